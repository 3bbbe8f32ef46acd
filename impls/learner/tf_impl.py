"""What learners have in common in TensorFlow: see ``spec.py``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from impls.learner.config import (
    Layouts,
    require_arguments,
    require_finite,
    require_state,
    require_variant,
)
from impls.learner.graphs_tf import Graphs, Later
from impls.networks import tf_impl as networks
from impls.optimizers import tf_impl as optimizers
from impls.optimizers.config import AdamConfig, RMSpropConfig
from impls.target_update import tf_impl as target_update


class Learner:
    """Networks, target networks and optimizers by name.

    Attributes:
        any_size: whether its graphs can be made for batches of any size.
    """

    any_size = True

    def __init__(self, *, dtype: str, device: str, variant: str) -> None:
        self.dtype, self.device = dtype, device
        self.variant = require_variant("tf", variant)
        self.networks: dict[str, networks.Network] = {}
        self.targets: dict[str, networks.Network] = {}
        self.parameters: dict[str, dict[str, tf.Variable]] = {}
        self.target_parameters: dict[str, dict[str, tf.Variable]] = {}
        self.optimizers: dict[str, optimizers.Optimizer] = {}
        self.step = 0
        self.traces = 0
        self._known: dict[str, np.ndarray] = {}  # names and shapes of the state
        self._accepted: set[tuple[Any, ...]] = set()  # names, shapes and dtypes of arguments

    def add(
        self,
        group: str,
        make: Callable[..., networks.Network],
        config: Any,
        optimizer: AdamConfig | RMSpropConfig,
        *,
        target: bool = True,
    ) -> None:
        """Make a network, its optimizer and, unless told otherwise, its target network."""
        self.networks[group] = make(config, dtype=self.dtype, device=self.device)
        self.parameters[group] = _variables(self.networks[group])
        with tf.device(_device(self.device)):
            self.optimizers[group] = _optimizer(optimizer, self.parameters[group])
        if target:
            self.targets[group] = make(config, dtype=self.dtype, device=self.device)
            self.targets[group].trainable = False
            self.target_parameters[group] = _variables(self.targets[group])

    def state(self) -> dict[str, np.ndarray]:
        state: dict[str, np.ndarray] = {}
        for group, optimizer in self.optimizers.items():
            state |= _under(f"slot/{group}", self.to_canonical(optimizer.slots()))
            state |= _under(f"param/{group}", self.to_canonical(self.parameters[group]))
        for group, values in self.target_parameters.items():
            state |= _under(f"target/{group}", self.to_canonical(values))
        rates = {group: optimizer.learning_rate for group, optimizer in self.optimizers.items()}
        state |= _under("learning_rate", self.to_canonical(rates))
        return {**state, "step": np.array(self.step, np.int64)}

    def load_state(self, state: Mapping[str, np.ndarray]) -> None:
        self._known = self._known or self.state()
        require_state(state, self._known)
        for group, optimizer in self.optimizers.items():
            optimizer.load_slots(_below(f"slot/{group}", state))
            rate = np.asarray(state[f"learning_rate/{group}"], np.float64)
            optimizer.set_learning_rate(tf.constant(rate))
        for kind, groups in (("param", self.parameters), ("target", self.target_parameters)):
            for group, variables in groups.items():
                for name, variable in variables.items():
                    variable.assign(state[f"{kind}/{group}/{name}"].astype(self.dtype))
        self.step = int(state["step"])

    def to_canonical(self, values: Mapping[str, tf.Tensor]) -> dict[str, np.ndarray]:
        return networks.canonical(values)

    def from_canonical(self, values: Mapping[str, np.ndarray]) -> dict[str, tf.Tensor]:
        with tf.device(_device(self.device)):
            return {name: tf.constant(v.astype(self.dtype)) for name, v in values.items()}

    def gradients(self, tape: tf.GradientTape, loss: tf.Tensor, group: str) -> dict[str, tf.Tensor]:
        """The gradient of a loss for one network's parameters, and no other's."""
        parameters = self.parameters[group]
        found = tape.gradient(loss, list(parameters.values()))
        return dict(zip(parameters, found, strict=True))

    def update_target(self, group: str, tau: float) -> None:
        """Move one target network by Polyak averaging."""
        target_update.polyak_update(self.target_parameters[group], self.parameters[group], tau)

    def require(
        self,
        batch: Mapping[str, tf.Tensor],
        draws: Mapping[str, tf.Tensor],
        layouts: Layouts,
        finite: bool,
        fit: Callable[..., None] = require_arguments,
    ) -> None:
        """Refuse a batch and draws that do not fit their layouts."""
        given = {"batch": batch, "draws": draws}
        fields = [(n, t.shape, t.dtype) for g in given.values() for n, t in g.items()]
        form = (len(batch), *fields)
        if form not in self._accepted:  # looked at once: 0.07 ms, in every update
            fit(
                {
                    w: {n: (tuple(t.shape.as_list()), t.dtype.name) for n, t in g.items()}
                    for w, g in given.items()
                },
                layouts,
            )
            self._accepted.add(form)
        if finite:
            # what a replay buffer gives later it has looked at when it was stored
            there = {w: {n: t.numpy() for n, t in g.items() if type(t) is not Later}
                     for w, g in given.items()}  # fmt: skip
            require_finite(there)

    def compiled(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function as this learner's variant runs it: see :class:`Graphs`."""
        if self.variant == "eager":
            return function

        def counted(*arguments: Any) -> Any:
            self.traces += 1  # Python: runs while tracing, and never again
            return function(*arguments)

        return Graphs(counted, xla=self.variant == "xla", any_size=self.any_size)


def _optimizer(
    config: AdamConfig | RMSpropConfig, parameters: Mapping[str, tf.Variable]
) -> optimizers.Optimizer:
    """The optimizer that a configuration is of."""
    if isinstance(config, AdamConfig):
        return optimizers.Adam(config, parameters)
    return optimizers.RMSprop(config, parameters)


def _variables(network: networks.Network) -> dict[str, tf.Variable]:
    """The ``tf.Variable`` inside each Keras variable: a tape accepts no other."""
    return {n: p.value for n, p in networks.network_parameters(network).items()}


def _under(prefix: str, values: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {f"{prefix}/{name}": value for name, value in values.items()}


def _below(prefix: str, state: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    start = f"{prefix}/"
    return {n[len(start) :]: v for n, v in state.items() if n.startswith(start)}


def _device(device: str) -> str:
    """``cuda:1`` -> ``/GPU:1``."""
    kind, _, index = device.partition(":")
    return f"/{'GPU' if kind == 'cuda' else kind.upper()}:{index or 0}"
