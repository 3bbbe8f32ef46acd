"""Networks: multi-layer perceptron, deterministic actor, twin critic.

All are built from dense layers ``x @ kernel + bias`` called ``l1``, ``l2``, ... in execution order;
activations stand between them. Kernels are ``[in, out]`` wherever values cross an interface.
Initial values come from :func:`impls.networks.config.initial_parameters`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from impls.networks.config import (
    ActorConfig,
    Config,
    CriticConfig,
    MLPConfig,
    initial_parameters,
    layer_sizes,
    parameter_shapes,
    require_device,
    require_dtype,
    require_matrix,
    require_names,
    require_same_batch,
)
from impls.networks.faults import ERRORS, MUTANTS
from parity.checks.module import ModuleCheck
from parity.component import Component

__all__ = [
    "COMPONENT",
    "ActorConfig",
    "Config",
    "CriticConfig",
    "MLPConfig",
    "initial_parameters",
    "layer_sizes",
    "parameter_shapes",
    "require_device",
    "require_dtype",
    "require_matrix",
    "require_names",
    "require_same_batch",
]


def make_mlp(config: MLPConfig, *, dtype: str, device: str = "cpu") -> Any:
    """Perceptron with linear output; also the logits of a discrete policy.

    ``h_0 = inputs``; ``h_i = activation(h_{i-1} @ kernel_i + bias_i)``; no activation on the last.

    Args:
        config: sizes and activation.
        dtype: ``float32`` or ``float64``: of the weights, the inputs and every value between.
        device: ``cpu``, ``cuda`` or ``cuda:N``.

    Returns:
        A network called as ``network(inputs)``: inputs ``[B, input_size]`` ->
        ``[B, output_size]``. It starts with ``initial_parameters(config, default_rng(0))``, so
        that it is the same in every framework before any weight has been moved.

    Raises:
        DtypeError: ``dtype`` is another one; on a call, inputs of another dtype (never cast).
        ShapeError: on a call, inputs that are not ``[B, input_size]``. Both work while tracing.
        ConfigError: there is no such device; never a silent fall-back to the CPU. The reference
            has none and takes any.
    """
    ...


def make_actor(config: ActorConfig, *, dtype: str, device: str = "cpu") -> Any:
    """Deterministic policy with bounded actions.

    ``action = max_action * tanh(mlp(observation))``, elementwise, relu in the hidden layers.

    Source: Lillicrap et al. 2016 (DDPG), section 7; Fujimoto et al. 2018 (TD3), appendix C.

    Args:
        config: sizes and bounds.
        dtype: ``float32`` or ``float64``.
        device: ``cpu``, ``cuda`` or ``cuda:N``.

    Returns:
        A network called as ``actor(observation)``: observation ``[B, observation_size]`` -> action
        ``[B, action_size]`` in the environment's unit. ``actor.max_action`` holds the bounds,
        ``[action_size]``; they are no parameter. Layers ``l1``, ``l2``, ...

    Raises:
        DtypeError, ShapeError, ConfigError: as in :func:`make_mlp`.
    """
    ...


def make_twin_critic(config: CriticConfig, *, dtype: str, device: str = "cpu") -> Any:
    """Two independent action-value networks on the same input.

    ``q = mlp(concat(observation, action))[:, 0]``, observation first, relu in the hidden layers;
    the two share no parameter.

    Source: Fujimoto et al. 2018 (TD3), section 4.2 and appendix C. Differs from DDPG's critic,
    which lets the action in at the second layer.

    Args:
        config: sizes.
        dtype: ``float32`` or ``float64``.
        device: ``cpu``, ``cuda`` or ``cuda:N``.

    Returns:
        A network called as ``critic(observation, action)``: ``[B, observation_size]``,
        ``[B, action_size]`` -> ``(q1, q2)``, each ``[B]``, in units of return.
        ``critic.q1(observation, action)`` -> ``[B]`` runs the first alone, for the actor's loss.
        Layers ``q1/l1``, ..., ``q2/l1``, ...

    Raises:
        DtypeError, ShapeError, ConfigError: as in :func:`make_mlp`.
        ShapeError: also where the two batches differ in size.
    """
    ...


def network_parameters(network: Any) -> dict[str, Any]:
    """The trainable variables by canonical name, in execution order, kernel before bias.

    Args:
        network: made by a builder of the same sibling.

    Returns:
        Name (``l1/kernel``, ``q2/l3/bias``) -> the framework's own variable, not a copy.

    Conventions: a torch kernel has torch's own layout ``[out, in]``; :func:`canonical` turns it.
    """
    ...


def load_parameters(network: Any, values: Mapping[str, np.ndarray]) -> None:
    """Set every parameter of a network, in place.

    Args:
        network: made by a builder of the same sibling.
        values: canonical name -> array in canonical layout (kernels ``[in, out]``), any floating
            dtype; rounded to the network's.

    Raises:
        ConfigError: a name is missing or unknown.
        ShapeError: an array has another shape; nothing is reshaped to fit.
    """
    ...


def canonical(values: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """NumPy copies, in canonical layout, of tensors that are shaped like parameters.

    Args:
        values: name -> tensor: parameters, gradients or optimizer slots. A name whose last part is
            ``kernel`` holds a dense kernel in the framework's own layout.

    Returns:
        The same names; kernels ``[in, out]``.
    """
    ...


Inputs = Callable[[np.random.Generator], list[np.ndarray]]


def _batch(*sizes: int, batch: int = 13, scale: float = 1.0, shift: float = 0.0) -> Inputs:
    """One normal matrix ``[batch, size]`` for each size."""
    return lambda rng: [rng.normal(shift, scale, (batch, size)) for size in sizes]


#: case -> config and inputs. Sizes are distinct, but in ``square``, where a transposed kernel fits.
MLP_CASES: dict[str, tuple[Config, Inputs]] = {
    "relu": (MLPConfig(3, (11, 7), 2), _batch(3)),
    "tanh": (MLPConfig(3, (11, 7), 2, "tanh"), _batch(3)),
    "square": (MLPConfig(5, (5, 5), 5), _batch(5, batch=5)),
    "single-row": (MLPConfig(3, (11, 7), 2), _batch(3, batch=1)),
    "negative": (MLPConfig(3, (11, 7), 2), _batch(3, shift=-3.0)),
    "order-100": (MLPConfig(3, (11, 7), 2), _batch(3, scale=100.0)),
    "one-hidden-layer": (MLPConfig(3, (11,), 2, "tanh"), _batch(3)),
    "linear": (MLPConfig(3, (), 2), _batch(3)),
    "cartpole-logits": (MLPConfig(4, (64, 64), 2, "tanh"), _batch(4)),
}
ACTOR_CASES: dict[str, tuple[Config, Inputs]] = {
    "bound-1": (ActorConfig(3, 2, (11, 7)), _batch(3)),
    "bound-2": (ActorConfig(3, 1, (11, 7), 2.0), _batch(3, scale=2.0)),
    "bound-per-dimension": (ActorConfig(3, 2, (11, 7), (2.0, 0.4)), _batch(3)),
    "square": (ActorConfig(5, 5, (5, 5), 0.4), _batch(5, batch=5)),
    "single-row": (ActorConfig(3, 2, (11, 7), 2.0), _batch(3, batch=1)),
    "negative": (ActorConfig(3, 2, (11, 7), 2.0), _batch(3, shift=-2.0)),
    "order-100": (ActorConfig(3, 2, (11, 7), 2.0), _batch(3, scale=100.0)),
    "width-256": (ActorConfig(17, 6, (256, 256), 0.4), _batch(17, batch=7)),
}
CRITIC_CASES: dict[str, tuple[Config, Inputs]] = {
    "distinct-sizes": (CriticConfig(3, 2, (11, 7)), _batch(3, 2, scale=2.0)),
    "square": (CriticConfig(2, 2, (4, 4)), _batch(2, 2, batch=4)),
    "single-row": (CriticConfig(3, 2, (11, 7)), _batch(3, 2, batch=1)),
    "negative": (CriticConfig(3, 2, (11, 7)), _batch(3, 2, shift=-3.0)),
    "order-100": (CriticConfig(3, 2, (11, 7)), _batch(3, 2, scale=100.0)),
    "width-256": (CriticConfig(17, 6, (256, 256)), _batch(17, 6, batch=7)),
}
CHECKS = tuple(
    ModuleCheck(name=name, case=case, config=config, inputs=inputs)
    for name, cases in {
        "make_mlp": MLP_CASES,
        "make_actor": ACTOR_CASES,
        "make_twin_critic": CRITIC_CASES,
    }.items()
    for case, (config, inputs) in cases.items()
)


COMPONENT = Component(
    name="networks",
    contract=(
        make_mlp,
        make_actor,
        make_twin_critic,
        network_parameters,
        load_parameters,
        canonical,
    ),
    checks=CHECKS,
    mutants=MUTANTS,
    errors=ERRORS,
)
