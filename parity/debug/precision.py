"""The same objects in float64: a factory called again, a module converted, a config rebuilt.

float64 is what tells a bug from rounding, so a user's own objects are run in it too. Where that is
not possible the reason is kept, and the report says that the evidence is missing.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from parity import spill
from parity.debug.rebuilding import quickly
from parity.debug.subjects import Subject, call_factory, describe

SMALL = 1 << 16
"""Elements of a weight that is not worth freeing for a while."""
_UNCHANGED = 0
"""What torch counts for a tensor that no operation has written to."""


@dataclass(frozen=True)
class Twin:
    """A float64 copy with the same weights, or the reason why there is none."""

    module: Any = None
    reason: str = ""


def torch_twin(module: Any) -> Twin:
    """A deep copy in float64; weights, buffers and modes are kept."""
    try:
        return Twin(copy.deepcopy(module, _widened_tensors(module)).double())
    except Exception as error:
        return Twin(reason=f"copying the torch module raised {describe(error)}")


def _widened_tensors(module: Any) -> dict[int, Any]:
    """What a deep copy is to put in place of weights: else it would copy them in float32 first."""
    torch = sys.modules["torch"]
    found = {}
    for tensor in (*module.parameters(), *module.buffers()):
        if not tensor.is_floating_point() or tensor.dtype is torch.float64:
            continue
        wide = tensor.detach().double()
        if type(tensor) is torch.nn.Parameter:
            found[id(tensor)] = torch.nn.Parameter(wide, tensor.requires_grad)
        elif type(tensor) is torch.Tensor and not tensor.requires_grad:
            found[id(tensor)] = wide
    return found


def rest(twin: Any, original: Any, read: Collection[int] = ()) -> Callable[[], None]:
    """Free the memory of a torch twin's weights, where nothing was written to them.

    They keep their shapes and read as zero meanwhile; calling the result brings them back, to be
    read: those of a large pair lie in a file then, and come into memory where they are used.

    Args:
        read: ids of the original's tensors of which the twin's are wanted meanwhile.
    """
    torch = sys.modules["torch"]
    resting = []
    with torch.no_grad():
        for wide, narrow in zip(twin.parameters(), original.parameters(), strict=True):
            # a frozen tensor, and one of two biases, may be read or written meanwhile
            if not wide.requires_grad or wide.ndim < 2 or wide.numel() < SMALL:
                continue
            if wide._version == _UNCHANGED and id(narrow) not in read:
                wide.data = torch.zeros((), dtype=wide.dtype, device=wide.device).expand(wide.shape)
                resting.append((wide, narrow))

    def wake() -> None:
        for wide, narrow in resting:
            back = narrow.detach().to(wide.dtype)
            on_cpu = back.device.type == "cpu"
            wide.data = torch.from_numpy(spill.kept(back.numpy())) if on_cpu else back

    return wake


def keras_twin(subject: Subject, build: Callable[[Any], None]) -> Twin:
    """A float64 copy of a Keras layer or model.

    Args:
        subject: its ``value`` is built and holds the weights to copy.
        build: calls a new object once on float64 inputs, so that its weights exist.
    """
    if not hasattr(subject.value, "get_weights"):
        return Twin(reason="a tf.Module has no dtype policy; give a factory that takes none")
    reasons = []
    for make in (_again_from_factory, _again_from_config):
        made, reason = make(subject)
        if made is None:
            reasons.append(reason)
            continue
        try:
            with float64_policy(subject.value), quickly():
                build(made)
            _copy_weights(subject.value, made)
        except Exception as error:
            reasons.append(f"its float64 twin raised {describe(error)}")
            continue
        return Twin(made)
    return Twin(reason="; ".join(r for r in reasons if r))


def _again_from_factory(subject: Subject) -> tuple[Any, str]:
    if subject.factory is None:
        return None, "an object was given, not a factory"
    try:
        with float64_policy(subject.value), quickly():
            return call_factory(subject.factory, subject.label), ""
    except Exception as error:
        return None, f"the factory, called again under a float64 policy: {error}"


def _again_from_config(subject: Subject) -> tuple[Any, str]:
    """Keras layers carry their dtype policy in their config: rebuild with float64 in its place."""
    try:
        config = _widened(subject.value.get_config())
        with float64_policy(subject.value), quickly():
            return type(subject.value).from_config(config), ""
    except Exception as error:
        return None, f"rebuilding from its config raised {describe(error)}"


def _widened(config: Any) -> Any:
    """``config`` with every float32 dtype and dtype policy made float64."""
    if isinstance(config, Mapping):
        return {key: _widened_item(key, value) for key, value in config.items()}
    if isinstance(config, (list, tuple)):
        return type(config)(_widened(value) for value in config)
    return config


def _widened_item(key: str, value: Any) -> Any:
    if key in ("dtype", "dtype_policy", "name") and value == "float32":
        return "float64"
    return _widened(value)


@contextmanager
def float64_policy(like: Any) -> Iterator[None]:
    """New Keras layers are float64 inside; ``set_floatx`` alone is not enough once layers exist."""
    keras = sys.modules.get("tf_keras" if _is_keras2(like) else "keras")
    if keras is None:
        yield
        return
    if hasattr(keras, "config") and hasattr(keras.config, "set_dtype_policy"):
        get, put = keras.config.dtype_policy, keras.config.set_dtype_policy
    else:
        get, put = keras.mixed_precision.global_policy, keras.mixed_precision.set_global_policy
    floatx = keras.backend.floatx()
    before = get()
    try:
        put("float64")
        keras.backend.set_floatx("float64")
        with _exact_constants():
            yield
    finally:
        put(before)
        keras.backend.set_floatx(floatx)


@contextmanager
def _exact_constants() -> Iterator[None]:
    """TensorFlow and Keras cast Python numbers (0.999, a learning rate) by way of float32."""
    names = ("keras.src.backend.tensorflow.core", "tensorflow")
    owners: list[Any] = [sys.modules.get(name) for name in names]
    kept = [(owner, owner.cast) for owner in owners if hasattr(owner, "cast")]

    def exact(cast: Callable[..., Any]) -> Callable[..., Any]:
        def function(x: Any, dtype: Any, *args: Any, **kwargs: Any) -> Any:
            if isinstance(x, float) and "float" in str(dtype):
                return sys.modules["tensorflow"].constant(x, dtype=dtype)
            return cast(x, dtype, *args, **kwargs)

        return function

    try:
        for owner, cast in kept:
            owner.cast = exact(cast)
        yield
    finally:
        for owner, cast in kept:
            owner.cast = cast


def _is_keras2(value: Any) -> bool:
    return any(c.__module__.startswith("tf_keras") for c in type(value).__mro__)


def _copy_weights(source: Any, target: Any) -> None:
    """Same class, same config: the weights stand in the same order. Shapes are checked anyway."""
    tf = sys.modules["tensorflow"]
    values, have = source.weights, target.weights
    shapes = [[tuple(w.shape) for w in side] for side in (have, values)]
    if shapes[0] != shapes[1]:
        raise ValueError(
            f"the float64 twin has other weights than the original: {shapes[0]} against {shapes[1]}"
        )
    narrow = sum(tf.as_dtype(w.dtype) == tf.float32 for w in have)
    if narrow:
        raise ValueError(f"{narrow} weights of the float64 twin are still float32")
    for old, new in zip(values, have, strict=True):
        value = tf.convert_to_tensor(old)
        new.assign(tf.cast(value, new.dtype) if value.dtype.is_floating else value)
