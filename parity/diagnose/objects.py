"""Hypotheses about Keras objects: a setting of a layer, a loss, an initialiser, a regulariser."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from parity.diagnose.bench import Bench
from parity.diagnose.code_constants import constant_cause
from parity.diagnose.hypotheses import Change, Hypothesis
from parity.diagnose.known_numbers import close, solve, torch_numbers
from parity.diagnose.numbers import Meaning, constant_meaning, same

#: Values that a named setting may have.
CHOICES: dict[str, tuple[Any, ...]] = {
    "reduction": ("sum_over_batch_size", "sum", "mean", "mean_with_sample_weight", None),
    "padding": ("same", "valid", "causal"),
    "data_format": ("channels_last", "channels_first"),
    "interpolation": ("nearest", "bilinear", "bicubic", "lanczos3", "lanczos5"),
    "merge_mode": ("concat", "sum", "mul", "ave"),
}
ACTIVATIONS = ("linear", "relu", "sigmoid", "tanh", "hard_sigmoid", "gelu", "silu", "elu", "selu",
               "softplus", "softmax", "log_softmax", "leaky_relu", "exponential",
               "relu6")  # fmt: skip
#: setting -> the cause that it is; by (family, setting), then by setting.
CAUSES: dict[str, str] = {
    "from_logits": "logits-probabilities",
    "label_smoothing": "label-smoothing",
    "reduction": "loss-reduction",
    "momentum": "norm-momentum",
    "epsilon": "epsilon-value",
    "trainable": "frozen-norm",
    "axis": "reduction-axis",
    "gain": "initializer-gain",
    "unit_forget_bias": "forget-bias",
    "l2": "l2-factor-two",
    "l1": "regularizer",
    "delta": "loss-constant",
    "gamma": "loss-constant",
    "alpha": "loss-constant",
    "scale": "initializer",
    "mode": "initializer",
    "distribution": "initializer",
    "stddev": "initializer",
    "minval": "initializer",
    "maxval": "initializer",
    "value": "initializer",
    "activation": "other-activation",
    "recurrent_activation": "other-activation",
    "padding": "padding",
    "negative_slope": "activation-slope",
    "rate": "dropout",
}


_IDLE = frozenset(
    ["synchronized", "renorm", "stateful", "unroll", "go_backwards", "zero_output_for_mask"]
)


def settings(bench: Bench) -> Iterator[Hypothesis]:
    """Each setting of each Keras object of the run, set to the torch side's, or to others."""
    numbers = torch_numbers(bench)
    for seen in bench.keras_objects:
        if seen.family == "optimizers":
            continue  # these are simulated
        for name, value in seen.settings.items():
            if not _own_switch(seen, name, value):
                yield from _variants(bench, seen, name, value, numbers)


def switches(bench: Bench) -> Iterator[Hypothesis]:
    """Switches of the user's own classes. What they switch is the better answer, so they come
    behind what has a name."""
    for seen in bench.keras_objects:
        for name, value in seen.settings.items():
            if seen.family != "optimizers" and _own_switch(seen, name, value):
                yield _hypothesis(bench, seen, name, value, not value, 1.2)


def _own_switch(seen: Any, name: str, value: Any) -> bool:
    return bool(seen.own) and isinstance(value, bool) and name not in CAUSES


def _variants(
    bench: Bench, seen: Any, name: str, value: Any, numbers: list[tuple[str, float]]
) -> Iterator[Hypothesis]:
    if isinstance(value, bool):
        if name not in _IDLE:
            yield _hypothesis(bench, seen, name, value, not value, 0.6)
    elif name.endswith("activation"):
        for other in ACTIVATIONS:
            if other != value:
                yield _hypothesis(bench, seen, name, value, other, 0.9)
    elif name in CHOICES:
        for other in CHOICES[name]:
            if other != value:
                yield _hypothesis(bench, seen, name, value, other, 0.8)
    elif isinstance(value, int) and name == "axis":
        for axis in range(-1, 4):
            if axis != value:
                yield _hypothesis(bench, seen, name, value, axis, 0.8)
    elif isinstance(value, float) and not name.startswith("renorm"):
        yield from _numbers(bench, seen, name, float(value), numbers)


def _numbers(
    bench: Bench, seen: Any, name: str, old: float, numbers: list[tuple[str, float]]
) -> Iterator[Hypothesis]:
    named = [v for n, v in numbers if n.rpartition(".")[2] in _SAME.get(name, (name,))]
    options = [*named, 1.0 - old] if name == "momentum" else [*named, old / 2, old * 2, 0.0, 1.0]
    if name in CAUSES or seen.own:
        options += [v for n, v in numbers if not float(v).is_integer()][:8]
    for other in dict.fromkeys(options):
        if other != old:
            yield _hypothesis(bench, seen, name, old, other, 0.7 if other in named else 0.9)


#: setting of Keras -> names of the same quantity in torch.
_SAME = {
    "epsilon": ("eps",),
    "l2": ("weight_decay",),
    "negative_slope": ("negative_slope",),
    "rate": ("p",),
    "delta": ("beta", "delta"),
    "label_smoothing": ("label_smoothing",),
    "gain": ("gain",),
    "stddev": ("std",),
    "mean": ("mean",),
    "minval": ("a",),
    "maxval": ("b",),
}


def solved_settings(bench: Bench) -> Iterator[Hypothesis]:
    """A number among the settings, solved for."""
    numbers = torch_numbers(bench)
    for seen in bench.keras_objects:
        if seen.family == "optimizers":
            continue
        for name, value in seen.settings.items():
            if not isinstance(value, float) or name.startswith("renorm"):
                continue
            new = solve(bench, lambda v, s=seen, n=name: changed(s, n, v), value)
            if new is None or same(new, value, close(bench)):
                continue
            meaning = constant_meaning(value, new, constants=numbers, close=close(bench))
            exact = _meant(meaning, new, value, numbers)
            rank = 0.8 if meaning else 1.5
            yield _hypothesis(
                bench, seen, name, value, exact, rank, meaning.text if meaning else None
            )


def _meant(meaning: Any, new: float, old: float, numbers: list[tuple[str, float]]) -> float:
    """The number as it was written, where what was solved for is so near to one."""
    if meaning is None:
        return new
    return next((v for _, v in numbers if same(v, new, 1e-8)), new)


def changed(seen: Any, name: str, value: Any) -> Change:
    from parity.backends import keras_objects

    def inside() -> Any:
        return keras_objects.with_settings({seen.key: {name: value}})

    return Change(inside=(inside,))


def _hypothesis(
    bench: Bench, seen: Any, name: str, old: Any, new: Any, rank: float, meaning: str | None = None
) -> Hypothesis:
    facts = {"object": seen.label, "setting": name, "was": old, "wanted": new, "meaning": meaning}
    cause = _own_cause(name, old, new) if seen.own else CAUSES.get(name, "layer-setting")
    if name == "momentum" and not (
        isinstance(new, float) and isinstance(old, float) and same(new, 1 - old)
    ):
        cause = "momentum-value"
    if str(new).endswith("with_sample_weight"):
        cause = "weighted-mean"
    if (
        name == "l2"
        and not same(float(new), float(old) / 2)
        and not same(float(new), float(old) * 2)
    ):
        cause = "regularizer"
    return Hypothesis(cause, changed(seen, name, new), facts, None, rank, seen.label)


def _own_cause(name: str, old: Any, new: Any) -> str:
    """For an attribute of a class of the user's, which means what its name says to the user."""
    known = CAUSES.get(name, "layer-setting")
    if known not in ("layer-setting", "initializer"):
        return known
    if isinstance(old, float) and isinstance(new, (int, float)):
        meaning = constant_meaning(old, float(new)) or Meaning("number", f"{new:.6g}")
        return constant_cause(meaning, name, old)
    return "layer-setting"


def initialisers(bench: Bench) -> Iterator[Hypothesis]:
    """Another initialiser of a layer, where the run only makes initial values."""
    import keras

    if any(s.family == "optimizers" for s in bench.keras_objects):
        return
    options = {
        "zeros": keras.initializers.Zeros,
        "ones": keras.initializers.Ones,
        "normal(0, 1)": lambda: keras.initializers.RandomNormal(0.0, 1.0, seed=1),
        "uniform(-1/sqrt(fan_in), 1/sqrt(fan_in))": lambda: keras.initializers.VarianceScaling(
            1 / 3, "fan_in", "uniform", seed=1
        ),
        "Glorot uniform": lambda: keras.initializers.GlorotUniform(seed=1),
        "He uniform": lambda: keras.initializers.HeUniform(seed=1),
        "He normal": lambda: keras.initializers.HeNormal(seed=1),
        "orthogonal": lambda: keras.initializers.Orthogonal(seed=1),
    }
    options = {**dict(_torch_initialisers(bench)), **options}
    for seen in bench.keras_objects:
        if seen.family != "layers":
            continue
        for name in vars(seen.value):
            if not name.endswith("_initializer"):
                continue
            was = type(getattr(seen.value, name)).__name__
            for label, make in options.items():
                facts = {"object": seen.label, "setting": name, "was": was, "wanted": label}
                change = _initialised(seen, name, make)
                yield Hypothesis("initializer", change, facts, None, 1.0, seen.label)


def _torch_initialisers(bench: Bench) -> Iterator[tuple[str, Any]]:
    """The initialisers that the torch side calls, in Keras' terms."""
    import keras

    make = keras.initializers
    for owner, s in reversed(bench.torch_settings):
        kind = owner.removeprefix("nn.init.")
        table = {
            "uniform_": lambda s=s: make.RandomUniform(s.get("a", 0.0), s.get("b", 1.0), seed=1),
            "normal_": lambda s=s: make.RandomNormal(s.get("mean", 0.0), s.get("std", 1.0), seed=1),
            "trunc_normal_": lambda s=s: make.TruncatedNormal(
                s.get("mean", 0.0), s.get("std", 1.0), seed=1
            ),
            "constant_": lambda s=s: make.Constant(s.get("val", 0.0)),
            "zeros_": make.Zeros,
            "ones_": make.Ones,
            "orthogonal_": lambda s=s: make.Orthogonal(s.get("gain", 1.0), seed=1),
            "xavier_uniform_": lambda s=s: make.VarianceScaling(
                s.get("gain", 1.0) ** 2, "fan_avg", "uniform", seed=1
            ),
            "xavier_normal_": lambda s=s: make.VarianceScaling(
                s.get("gain", 1.0) ** 2, "fan_avg", "untruncated_normal", seed=1
            ),
            "kaiming_uniform_": lambda s=s: make.VarianceScaling(
                2 / (1 + s.get("a", 0.0) ** 2), s.get("mode", "fan_in"), "uniform", seed=1
            ),
            "kaiming_normal_": lambda s=s: make.VarianceScaling(
                2 / (1 + s.get("a", 0.0) ** 2),
                s.get("mode", "fan_in"),
                "untruncated_normal",
                seed=1,
            ),
        }
        if kind in table and owner != kind:
            said = ", ".join(f"{k}={v:g}" for k, v in s.items() if isinstance(v, float))
            yield f"torch's {kind}({said})", table[kind]


def _initialised(seen: Any, name: str, make: Any) -> Change:
    from parity.backends import keras_objects

    def inside() -> Any:
        return keras_objects.with_settings({seen.key: {name: make()}})

    return Change(inside=(inside,))
