"""The Keras objects that take part in a run, and how to give one of them another setting.

Layers, losses, optimizers, initialisers and regularisers are seen when they are made and when they
are called. An object made during the run is known by its class and its number, since the next run
makes another one.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import keras

_BASES = (
    keras.layers.Layer,
    keras.losses.Loss,
    keras.optimizers.Optimizer,
    keras.initializers.Initializer,
    keras.regularizers.Regularizer,
)
_SKIPPED = frozenset(
    "name dtype seed units filters kernel_size output_dim input_dim strides groups module "
    "class_name registered_name build_config batch_shape loss_scale_factor ema_momentum "
    "ema_overwrite_frequency use_ema gradient_accumulation_steps jit_compile autocast".split()
)


@dataclass
class Seen:
    """One object.

    Attributes:
        kind: name of its class; ``number`` counts objects of the class.
        made: it was made during the run.
        settings: numbers, switches and names among its configuration.
    """

    kind: str
    number: int
    value: Any
    made: bool
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> tuple[str, int]:
        return self.kind, self.number

    @property
    def family(self) -> str:
        """``layers``, ``losses``, ``optimizers``, ``initializers`` or ``regularizers``."""
        names = ("layers", "losses", "optimizers", "initializers", "regularizers")
        return next(
            n for n, base in zip(names, _BASES, strict=True) if isinstance(self.value, base)
        )

    @property
    def label(self) -> str:
        return self.kind if self.own else f"keras.{self.family}.{self.kind}"

    @property
    def own(self) -> bool:
        """Whether the class is one of the user's, not Keras's."""
        return type(self.value).__module__.split(".")[0] not in ("keras", "tf_keras")


Alter = Callable[[Seen], None]


@contextmanager
def objects(
    alter: Alter | None = None, kinds: Collection[str] | None = None
) -> Iterator[list[Seen]]:
    """A list that fills with the objects that are made or called inside.

    Args:
        alter: called for each of them before it is used: when it has been made, and at its first
            call, since its owner may have changed it in between.
        kinds: names of the classes to look at; all where not given.
    """
    found: list[Seen] = []
    known: dict[int, Seen] = {}
    counts: dict[str, int] = {}
    depth: dict[int, int] = {}

    called: set[int] = set()

    def register(value: Any, made: bool) -> None:
        kind = type(value).__name__
        if (kinds is not None and kind not in kinds) or (id(value) in called):
            return
        seen = known.get(id(value))
        if seen is None:
            counts[kind] = counts.get(kind, -1) + 1
            seen = known[id(value)] = Seen(kind, counts[kind], value, made)
            found.append(seen)
        if not made:
            called.add(id(value))
        if alter is not None:
            alter(seen)
        else:
            seen.settings = settings_of(value)

    def making(original: Any) -> Any:
        def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
            depth[id(self)] = depth.get(id(self), 0) + 1
            try:
                original(self, *args, **kwargs)
            finally:
                depth[id(self)] -= 1
            if not depth[id(self)]:
                register(self, True)

        # Keras reads the argument names of a layer's constructor
        __init__.__signature__ = inspect.signature(original)  # type: ignore[attr-defined]
        return __init__

    def calling(original: Any) -> Any:
        def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:
            register(self, False)
            return original(self, *args, **kwargs)

        __call__.__signature__ = inspect.signature(original)  # type: ignore[attr-defined]
        return __call__

    undo: list[tuple[type, str, Any]] = []
    try:
        for cls in _classes(kinds):
            for name, wrap in (("__init__", making), ("__call__", calling), ("apply", calling)):
                if name in vars(cls) and not (name == "apply" and not issubclass(cls, _BASES[2])):
                    undo.append((cls, name, vars(cls)[name]))
                    setattr(cls, name, wrap(vars(cls)[name]))
        yield found
    finally:
        for cls, name, original in reversed(undo):
            setattr(cls, name, original)


def _classes(kinds: Collection[str] | None) -> list[type]:
    """The classes of the given names with all that they inherit from; all classes without names."""
    found: dict[type, None] = {}
    waiting = list(_BASES)
    while waiting:
        cls = waiting.pop()
        if cls not in found:
            found[cls] = None
            waiting += cls.__subclasses__()
    if kinds is None:
        return list(found)
    named = [c for c in found if c.__name__ in kinds]
    return list(dict.fromkeys(c for n in named for c in n.__mro__ if issubclass(c, _BASES)))


def settings_of(value: Any) -> dict[str, Any]:
    """Numbers, switches and names of an object's configuration."""
    try:
        config = dict(value.get_config())
    except Exception:  # a user's class without get_config
        config = {k: v for k, v in vars(value).items() if not k.startswith("_")}
    config.update(getattr(value, "_fn_kwargs", {}) or {})
    if isinstance(value, keras.layers.Layer):
        config["trainable"] = value.trainable
    found = {}
    for name, setting in config.items():
        if name in _SKIPPED or not _held(value, name):
            continue
        if setting is None or isinstance(setting, (bool, int, float, str)):
            found[name] = setting
    return found


def _held(value: Any, name: str) -> bool:
    return name in getattr(value, "_fn_kwargs", {}) or hasattr(value, name)


def put(seen: Seen, name: str, setting: Any) -> Callable[[], None]:
    """Give an object another setting; returns what gives it the old one again."""
    value = seen.value
    keywords = getattr(value, "_fn_kwargs", None)
    if isinstance(keywords, dict) and name in keywords:
        old = keywords[name]
        keywords[name] = setting

        def restore_keyword() -> None:
            keywords[name] = old

        return restore_keyword
    old = getattr(value, name)
    new = keras.activations.get(setting) if name.endswith("activation") else setting
    _assign(value, name, new)

    def restore() -> None:
        _assign(value, name, old)

    return restore


def _assign(value: Any, name: str, setting: Any) -> None:
    if name == "learning_rate":
        value.learning_rate = setting
    else:
        setattr(value, name, setting)


@contextmanager
def with_settings(wanted: Mapping[tuple[str, int], Mapping[str, Any]]) -> Iterator[None]:
    """Objects of these classes and numbers have other settings inside."""
    undo: list[Callable[[], None]] = []

    def alter(seen: Seen) -> None:
        for name, setting in wanted.get(seen.key, {}).items():
            undo.append(put(seen, name, setting))

    with objects(alter, {kind for kind, _ in wanted}):
        try:
            yield
        finally:
            for restore in reversed(undo):
                restore()
