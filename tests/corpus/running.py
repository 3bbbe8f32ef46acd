"""Runs both sides of a case and says how far apart they are; with NumPy, without the harness."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

import keras
import numpy as np
import tensorflow as tf
import torch

from tests.corpus import copying
from tests.corpus.loading import Case

Values = dict[str, Any]
STEPS = 6


def difference(case: Case, code: Any, tf_side: str, seed: int = 0) -> tuple[float, str]:
    """The largest difference between the torch side and ``code.<tf_side>``, and its name.

    Relative to ``max(1, largest value)`` of the array. In float64 where the case can.
    """
    dtype = "float64" if case.float64 else "float32"
    make = getattr(code, "revealing" if case.hidden else "inputs", None)
    given = _split(make(seed) if make is not None else None)  # optimizers get gradients of ours
    with policy(dtype):
        left, right = RUNS[case.subject](case, code, getattr(code, tf_side), given, dtype)
    return _apart(left, right, moved=case.channels_last)


@contextmanager
def policy(dtype: str) -> Iterator[None]:
    """New Keras layers and variables are of this dtype."""
    before = keras.config.dtype_policy(), keras.config.floatx()
    keras.config.set_dtype_policy(dtype)
    keras.config.set_floatx(dtype)
    try:
        yield
    finally:
        keras.config.set_dtype_policy(before[0])
        keras.config.set_floatx(before[1])


def _module(
    case: Case, code: Any, make_tf: Callable[[], Any], given: list[Values], dtype: str
) -> tuple[Values, Values]:
    torch.manual_seed(11)
    keras.utils.set_random_seed(12)
    module = code.torch_side()
    if case.options.get("weights") != "keep":
        _scatter(module)
    module.to(torch.float64 if dtype == "float64" else torch.float32)
    training = bool(case.options.get("training"))
    module.train(training)
    model = make_tf()
    tensors = [tf.constant(_cast(a, dtype)) for a in given[1].values()]
    _call_keras(model, *tensors, training=False)  # builds it
    if case.options.get("weights") != "keep":
        getattr(code, "copy_weights", copying.copy)(module, model)
    weights = _first_weights(module, model)
    run = functools.partial(_call_keras, model, training=training)
    return (
        _torch_values(module, given[0], dtype, weights[0]) | _buffers(module, training),
        _tf_values(run, given[1], dtype, weights[1], case.channels_last) | _states(model, training),
    )


def _first_weights(module: torch.nn.Module, model: Any) -> tuple[Values, Values]:
    """The kernels, tables and scales of both sides; only the size of their gradient is compared."""
    left: Values = {}
    right: Values = {}
    layers = zip(copying.torch_layers(module), copying.keras_layers(model), strict=False)
    for number, (ours, theirs) in enumerate(layers):
        weights = next(ours.parameters(), None), next(iter(theirs.trainable_variables), None)
        if weights[0] is not None and weights[0].requires_grad and weights[1] is not None:
            if weights[0].numel() == np.prod(weights[1].shape):
                left[f"weight/{number}"], right[f"weight/{number}"] = weights
    return left, right


def _scatter(module: torch.nn.Module) -> None:
    """Statistics, scales and shifts away from 0 and 1, where a wrong one would not show."""
    generator = torch.Generator().manual_seed(13)
    for layer in module.modules():
        if "Norm" in type(layer).__name__:
            for name, tensor in [*layer.named_parameters(), *layer.named_buffers()]:
                if tensor.is_floating_point():
                    drawn = torch.rand(tensor.shape, generator=generator) * 0.5
                    with torch.no_grad():
                        tensor.copy_(drawn + (0.75 if name in ("weight", "running_var") else -0.25))


def _call_keras(model: Any, *tensors: Any, training: bool) -> Any:
    graph = isinstance(model, keras.Model) and type(model).__name__ in ("Functional", "Sequential")
    if not isinstance(model, keras.layers.Layer):
        return model(*tensors)
    return (
        model(tensors if graph and len(tensors) > 1 else tensors[0], training=training)
        if (graph)
        else model(*tensors, training=training)
    )


def _function(
    case: Case, code: Any, tf_function: Any, given: list[Values], dtype: str
) -> tuple[Values, Values]:
    return _torch_values(code.torch_side, given[0], dtype), _tf_values(tf_function, given[1], dtype)


def _torch_values(
    function: Any, given: Values, dtype: str, weights: Mapping[str, Any] = MappingProxyType({})
) -> Values:
    tensors = {n: torch.from_numpy(_cast(a, dtype).copy()) for n, a in given.items()}
    floats = {n: t.requires_grad_() for n, t in tensors.items() if t.is_floating_point()}
    outputs = dict(_flat(function(*tensors.values())))
    live = [(i, v) for i, v in enumerate(outputs.values()) if getattr(v, "requires_grad", False)]
    sources = {**floats, **{n: w for n, w in weights.items() if w.requires_grad}}
    gradients: Any = [None] * len(sources)
    if live and sources:
        cotangents = [torch.from_numpy(_weights(i, tuple(v.shape))).to(v.dtype) for i, v in live]
        gradients = torch.autograd.grad(
            [v for _, v in live], list(sources.values()), cotangents, allow_unused=True
        )
    found: Values = {f"output/{n}": _array(v) for n, v in outputs.items()}
    for (name, source), gradient in zip(sources.items(), gradients, strict=True):
        array = _array(torch.zeros_like(source) if gradient is None else gradient)
        found[f"grad/{name}"] = array if name in floats else np.linalg.norm(array)
    return found


def _tf_values(
    function: Any,
    given: Values,
    dtype: str,
    weights: Mapping[str, Any] = MappingProxyType({}),
    moved: bool = False,
) -> Values:
    tensors = {n: tf.constant(_cast(a, dtype)) for n, a in given.items()}
    floats = {n: t for n, t in tensors.items() if t.dtype.is_floating}
    with tf.GradientTape() as tape:
        tape.watch(list(floats.values()))
        outputs = dict(_flat(function(*tensors.values())))
    live = [(i, v) for i, v in enumerate(outputs.values()) if _is_float(v)]
    sources = {**floats, **{n: w.value for n, w in weights.items()}}
    gradients: Any = [None] * len(sources)
    if live and sources:
        cotangents = [tf.constant(_weights(i, tuple(v.shape), moved), v.dtype) for i, v in live]
        gradients = tape.gradient(
            [v for _, v in live], list(sources.values()), output_gradients=cotangents
        )
    found: Values = {f"output/{n}": _array(v) for n, v in outputs.items()}
    for (name, source), gradient in zip(sources.items(), gradients, strict=True):
        full = tf.zeros_like(source) if gradient is None else tf.convert_to_tensor(gradient)
        found[f"grad/{name}"] = _array(full) if name in floats else np.linalg.norm(_array(full))
    return found


def _is_float(value: Any) -> bool:
    return bool(tf.is_tensor(value) and value.dtype.is_floating)


def _buffers(module: torch.nn.Module, training: bool) -> Values:
    floats = [b for b in module.buffers() if b.is_floating_point()] if training else []
    return {f"state/{i}": _array(b) for i, b in enumerate(floats)}


def _states(model: Any, training: bool) -> Values:
    # a frozen layer's scale and shift are listed with its statistics
    states = [v for v in model.non_trainable_variables if v.name.startswith("moving_")]
    states = states if training else []
    return {f"state/{i}": _array(v) for i, v in enumerate(states)}


def _optimizer(
    case: Case, code: Any, make_tf: Callable[[], Any], given: list[Values], dtype: str
) -> tuple[Values, Values]:
    rng = np.random.default_rng(3)
    start = {"kernel": rng.normal(size=(5, 3)), "bias": rng.normal(size=3)}
    sizes = {n: 10.0 ** rng.choice([0, -2, -4, -6, -8], v.shape) for n, v in start.items()}
    steps = [
        {n: s * rng.uniform(-1.5, 1.5, s.shape) for n, s in sizes.items()} for _ in range(STEPS)
    ]
    parameters = [torch.nn.Parameter(torch.from_numpy(v.copy())) for v in start.values()]
    made = code.torch_side(parameters)
    optimizer, scheduler = made if isinstance(made, tuple) else (made, None)
    keras_optimizer = make_tf()
    variables = [keras.Variable(v, dtype=dtype, name=n) for n, v in start.items()]
    left: Values = {}
    right: Values = {}
    for number, gradients in enumerate(steps, 1):
        for parameter, gradient in zip(parameters, gradients.values(), strict=True):
            parameter.grad = torch.from_numpy(gradient.copy())
        optimizer.step()
        if scheduler is not None:
            scheduler.step()
        tensors = [tf.constant(g) for g in gradients.values()]
        keras_optimizer.apply_gradients(list(zip(tensors, variables, strict=True)))
        for name, a, b in zip(start, parameters, variables, strict=True):
            left[f"step/{number}/{name}"] = _array(a).copy()
            right[f"step/{number}/{name}"] = _array(b)
    return left, right


def _environment(
    case: Case, code: Any, make_tf: Callable[[], Any], given: list[Values], dtype: str
) -> tuple[Values, Values]:
    return _roll(code.torch_side(), given[0]), _roll(make_tf(), given[1])


def _roll(env: Any, given: Values) -> Values:
    """The given actions, one after the other; a reset where an episode ends."""
    observation, _ = env.reset(seed=5)
    found: Values = {"0/observation": observation}
    for number, action in enumerate(next(iter(given.values())), 1):
        observation, reward, terminated, truncated, _ = env.step(action)
        found |= {
            f"{number}/observation": observation,
            f"{number}/reward": reward,
            f"{number}/terminated": terminated,
            f"{number}/truncated": truncated,
        }
        if terminated or truncated:
            found[f"{number}/reset"], _ = env.reset()
    env.close()
    return {name: np.asarray(value) for name, value in found.items()}


def _agent(
    case: Case, code: Any, make_tf: Callable[[], Any], given: list[Values], dtype: str
) -> tuple[Values, Values]:
    def act(agent: Any, observations: np.ndarray) -> Values:
        return {f"{i}/action": _array(agent.act(o)) for i, o in enumerate(observations)}

    observations = [_cast(next(iter(side.values())), dtype) for side in given]
    return act(code.torch_side(), observations[0]), act(make_tf(), observations[1])


RUNS = {
    "module": _module,
    "function": _function,
    "optimizer": _optimizer,
    "environment": _environment,
    "agent": _agent,
}


def _split(given: Any) -> list[Values]:
    """The inputs of the torch side and of the tf side, named."""
    if isinstance(given, Mapping) and set(given) == {"torch", "tf"}:
        return [_named(given["torch"]), _named(given["tf"])]
    return [_named(given)] * 2


def _named(given: Any) -> Values:
    if given is None:
        return {}
    return dict(given) if isinstance(given, Mapping) else {str(i): a for i, a in enumerate(given)}


def _apart(left: Values, right: Values, *, moved: bool) -> tuple[float, str]:
    if len(left) != len(right):
        return float("inf"), f"{len(left)} values against {len(right)}"
    if set(left) != set(right):
        right = dict(zip(left, right.values(), strict=True))
    worst, where = 0.0, ""
    for name, a in left.items():
        b = np.asarray(right[name])
        if moved and b.ndim >= 3:
            b = np.moveaxis(b, -1, 1)
        apart = _distance(np.asarray(a), b)
        if apart > worst:
            worst, where = apart, name
    return worst, where


def _distance(a: np.ndarray, b: np.ndarray) -> float:
    if a.shape != b.shape:
        return float("inf")
    a, b = a.astype(np.float64), b.astype(np.float64)
    finite = np.isfinite(a)
    same = np.array_equal(finite, np.isfinite(b)) and np.array_equal(
        a[~finite], b[~finite], equal_nan=True
    )
    if not same:
        return float("inf")
    if not finite.any():
        return 0.0
    return float(np.abs(a[finite] - b[finite]).max() / max(1.0, np.abs(a[finite]).max()))


def _flat(tree: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(tree, Mapping):
        items: Any = tree.items()
    elif isinstance(tree, (list, tuple)):
        items = enumerate(tree)
    else:
        yield prefix or "value", tree
        return
    for key, value in items:
        yield from _flat(value, f"{prefix}/{key}".lstrip("/"))


def _weights(position: int, shape: tuple[int, ...], moved: bool = False) -> np.ndarray:
    """Weights of the backward pass, so that no two elements of an output count alike."""
    rng = np.random.default_rng(position)
    if not moved or len(shape) < 3:
        return rng.uniform(0.5, 1.5, shape)
    return np.moveaxis(rng.uniform(0.5, 1.5, (shape[0], shape[-1], *shape[1:-1])), 1, -1)


def _cast(value: Any, dtype: str) -> np.ndarray:
    array = np.asarray(value)
    return array.astype(dtype) if array.dtype.kind == "f" else array


def _array(value: Any) -> np.ndarray:
    if isinstance(value, torch.Tensor):
        return value.detach().numpy()
    return value.numpy() if hasattr(value, "numpy") else np.asarray(value)
