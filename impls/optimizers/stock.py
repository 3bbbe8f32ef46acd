"""Measures how far the frameworks' stock optimizers are from the definition, and from its formula.

``python -m impls.optimizers.stock`` prints one line per entry of
:data:`~impls.optimizers.divergences.STOCK_DIVERGENCES`. Each entry runs a stock optimizer in
float64 for 20 steps on one fixed set of gradients; beside it runs the reference, and the reference
with the one formula changed that the entry names.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from impls.optimizers import numpy_ref
from impls.optimizers.config import AdamConfig, RMSpropConfig, SGDConfig
from impls.optimizers.divergences import STOCK_DIVERGENCES

STEPS, HALVED_AT = 20, 10
#: Exact in float32, so that Keras's float32 constants play no part where they are not the point.
RATE = 2.0**-7
EXACT_SHARE, EXACT_DECAY = 1 - 2.0**-3, 1 - 2.0**-7
START: np.ndarray = np.random.default_rng(0).normal(size=(3, 11))
GRADIENTS: list[np.ndarray] = list(np.random.default_rng(1).normal(size=(STEPS, 3, 11)))


@dataclass(frozen=True)
class Measured:
    """Largest differences of a parameter after the last step.

    Attributes:
        apart: stock optimizer against the definition.
        explained: stock optimizer against the definition with the entry's formula.
    """

    apart: float
    explained: float


def measure(divergence: str) -> Measured:
    """Run one entry of the table."""
    theirs, ours, formula = _MEASUREMENTS[divergence]()
    return Measured(float(np.max(np.abs(theirs - ours))), float(np.max(np.abs(theirs - formula))))


def _keras(name: str, *, halve: bool = False, **options: Any) -> Any:
    import keras

    variable = keras.Variable(START, dtype="float64")
    optimizer = getattr(keras.optimizers, name)(**options)
    for index, g in enumerate(GRADIENTS):
        if halve and index == HALVED_AT:
            optimizer.learning_rate = RATE / 2
        optimizer.apply([keras.ops.convert_to_tensor(g, dtype="float64")], [variable])
    return np.asarray(variable)


def _ours(name: str, config: Any, *, halve: bool = False, per_step: Any = None) -> np.ndarray:
    """The reference; ``per_step(config, t)`` gives the constants of step t."""
    p: np.ndarray = START.copy()
    optimizer = getattr(numpy_ref, name)(config, {"p": p})
    for index, g in enumerate(GRADIENTS):
        if halve and index == HALVED_AT:
            optimizer.set_learning_rate(RATE / 2)
        if per_step is not None:
            optimizer._config = per_step(config, index + 1)
        optimizer.apply({"p": g})
    return p


def _formula(step: Callable[[np.ndarray, np.ndarray, np.ndarray, int], np.ndarray]) -> Any:
    """Iterate ``p <- step(p, g, state, t)``; ``state`` starts at 0 and is written in place."""
    p, state = START.copy(), np.zeros((2, *START.shape))
    for index, g in enumerate(GRADIENTS):
        p = step(p, g, state, index + 1)
    return p


def _keras_epsilon(config: AdamConfig, t: int) -> AdamConfig:
    return replace(config, epsilon=config.epsilon / np.sqrt(1 - config.beta2**t))


def _rate(t: int) -> float:
    return RATE if t <= HALVED_AT else RATE / 2


def _adam_epsilon() -> tuple[Any, Any, Any]:
    config = AdamConfig(RATE, beta1=EXACT_SHARE, beta2=EXACT_DECAY, epsilon=1e-3)
    theirs = _keras(
        "Adam", learning_rate=RATE, beta_1=EXACT_SHARE, beta_2=EXACT_DECAY, epsilon=1e-3
    )
    return theirs, _ours("Adam", config), _ours("Adam", config, per_step=_keras_epsilon)


def _adam_default_epsilon() -> tuple[Any, Any, Any]:
    config = AdamConfig(RATE, beta1=EXACT_SHARE, beta2=EXACT_DECAY)
    theirs = _keras("Adam", learning_rate=RATE, beta_1=EXACT_SHARE, beta_2=EXACT_DECAY)
    formula = _ours("Adam", replace(config, epsilon=1e-7), per_step=_keras_epsilon)
    return theirs, _ours("Adam", config), formula


def _adam_constants() -> tuple[Any, Any, Any]:
    beta1, beta2 = np.float64(np.float32(0.9)), np.float64(np.float32(0.999))

    def step(p: np.ndarray, g: np.ndarray, state: np.ndarray, t: int) -> np.ndarray:
        state[0] = 0.9 * state[0] + (1 - 0.9) * g
        state[1] = 0.999 * state[1] + (1 - 0.999) * g**2
        m_hat, v_hat = state[0] / (1 - beta1**t), state[1] / (1 - beta2**t)
        return np.asarray(p - RATE * m_hat / (np.sqrt(v_hat) + 1e-3 / np.sqrt(1 - beta2**t)))

    theirs = _keras("Adam", learning_rate=RATE, epsilon=1e-3)
    ours = _ours("Adam", AdamConfig(RATE, epsilon=1e-3), per_step=_keras_epsilon)
    return theirs, ours, _formula(step)


def _learning_rate_float32() -> tuple[Any, Any, Any]:
    theirs = _keras("SGD", learning_rate=0.1)
    rounded = float(np.float32(0.1))
    return theirs, _ours("SGD", SGDConfig(0.1)), _ours("SGD", SGDConfig(rounded))


def _rmsprop_epsilon() -> tuple[Any, Any, Any]:
    def step(p: np.ndarray, g: np.ndarray, state: np.ndarray, t: int) -> np.ndarray:
        state[0] = 0.9 * state[0] + 0.1 * g**2
        return np.asarray(p - RATE * g / np.sqrt(state[0] + 1e-7))

    theirs = _keras("RMSprop", learning_rate=RATE, rho=0.9, epsilon=1e-7)
    config = RMSpropConfig(RATE, decay=0.9, epsilon=1e-7)
    return theirs, _ours("RMSprop", config), _formula(step)


def _rmsprop_buffer() -> tuple[Any, Any, Any]:
    def step(p: np.ndarray, g: np.ndarray, state: np.ndarray, t: int) -> np.ndarray:
        state[0] = 0.9 * state[0] + 0.1 * g**2
        state[1] = EXACT_SHARE * state[1] + _rate(t) * g / np.sqrt(state[0] + 1e-7)
        return np.asarray(p - state[1])

    theirs = _keras(
        "RMSprop", halve=True, learning_rate=RATE, rho=0.9, momentum=EXACT_SHARE, epsilon=1e-7
    )
    config = RMSpropConfig(RATE, decay=0.9, momentum=EXACT_SHARE, epsilon=1e-7)
    return theirs, _ours("RMSprop", config, halve=True), _formula(step)


def _sgd_buffer() -> tuple[Any, Any, Any]:
    def step(p: np.ndarray, g: np.ndarray, state: np.ndarray, t: int) -> np.ndarray:
        state[0] = EXACT_SHARE * state[0] + _rate(t) * g
        return np.asarray(p - state[0])

    theirs = _keras("SGD", halve=True, learning_rate=RATE, momentum=EXACT_SHARE)
    ours = _ours("SGD", SGDConfig(RATE, momentum=EXACT_SHARE), halve=True)
    return theirs, ours, _formula(step)


def _sgd_weight_decay() -> tuple[Any, Any, Any]:
    decay = 1 - EXACT_DECAY

    def step(p: np.ndarray, g: np.ndarray, state: np.ndarray, t: int) -> np.ndarray:
        state[0] = EXACT_SHARE * state[0] + g
        return np.asarray(p - RATE * decay * p - RATE * state[0])

    theirs = _keras("SGD", learning_rate=RATE, momentum=EXACT_SHARE, weight_decay=decay)
    ours = _ours("SGD", SGDConfig(RATE, momentum=EXACT_SHARE, weight_decay=decay))
    return theirs, ours, _formula(step)


def _adagrad() -> tuple[Any, Any, Any]:
    import torch

    start = float(np.float32(0.1))

    def step(p: np.ndarray, g: np.ndarray, state: np.ndarray, t: int) -> np.ndarray:
        state[0] += g**2
        return np.asarray(p - RATE * g / np.sqrt(start + state[0] + 1e-7))

    parameter = torch.nn.Parameter(torch.tensor(START))
    optimizer = torch.optim.Adagrad([parameter], lr=RATE)
    for g in GRADIENTS:
        parameter.grad = torch.tensor(g)
        optimizer.step()
    return _keras("Adagrad", learning_rate=RATE), parameter.detach().numpy(), _formula(step)


def _torch_clip() -> tuple[Any, Any, Any]:
    import torch

    g = GRADIENTS[0] / np.linalg.norm(GRADIENTS[0])  # norm 1, clipped to 0.5
    parameter = torch.nn.Parameter(torch.tensor(START))
    parameter.grad = torch.tensor(g)
    torch.nn.utils.clip_grad_norm_([parameter], 0.5)
    ours = numpy_ref.clip_by_global_norm({"p": g}, 0.5)[0]["p"]
    return parameter.grad.numpy(), ours, g * 0.5 / (np.linalg.norm(g) + 1e-6)


def _keras_clipnorm() -> tuple[Any, Any, Any]:
    import keras

    large, small = GRADIENTS[0] / np.linalg.norm(GRADIENTS[0]), GRADIENTS[1] * 1e-3
    variables = [keras.Variable(np.zeros_like(large), dtype="float64") for _ in range(2)]
    optimizer = keras.optimizers.SGD(learning_rate=1.0, clipnorm=0.5)
    tensors = [keras.ops.convert_to_tensor(g, dtype="float64") for g in (large, small)]
    optimizer.apply(tensors, variables)
    clipped, _ = numpy_ref.clip_by_global_norm({"large": large, "small": small}, 0.5)
    formula = [g * min(1.0, 0.5 / np.linalg.norm(g)) for g in (large, small)]
    theirs = np.stack([-np.asarray(v) for v in variables])
    return theirs, np.stack(list(clipped.values())), np.stack(formula)


_MEASUREMENTS: dict[str, Callable[[], tuple[Any, Any, Any]]] = {
    "keras-adam-epsilon": _adam_epsilon,
    "keras-adam-default-epsilon": _adam_default_epsilon,
    "keras-adam-float32-constants": _adam_constants,
    "keras-learning-rate-float32": _learning_rate_float32,
    "keras-rmsprop-epsilon": _rmsprop_epsilon,
    "keras-rmsprop-learning-rate-in-buffer": _rmsprop_buffer,
    "keras-sgd-learning-rate-in-buffer": _sgd_buffer,
    "keras-sgd-weight-decay": _sgd_weight_decay,
    "keras-adagrad": _adagrad,
    "keras-clipnorm-per-variable": _keras_clipnorm,
    "torch-clip-grad-norm": _torch_clip,
}


def main() -> None:
    """Print the table."""
    print(f"{'entry':40} {'apart':>10} {'documented':>10} {'explained':>10}")
    for entry in STOCK_DIVERGENCES:
        found = measure(entry.id)
        print(f"{entry.id:40} {found.apart:10.2e} {entry.size:10.1e} {found.explained:10.1e}")


if __name__ == "__main__":
    main()
