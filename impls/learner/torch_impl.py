"""What learners have in common in PyTorch: see ``spec.py``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from impls.learner.config import (
    Layouts,
    require_arguments,
    require_finite,
    require_state,
    require_variant,
)
from impls.learner.graphs_torch import Graphs
from impls.networks import torch_impl as networks
from impls.optimizers import torch_impl as optimizers
from impls.optimizers.config import AdamConfig, RMSpropConfig
from impls.target_update import torch_impl as target_update


class Learner:
    """Networks, target networks and optimizers by name."""

    def __init__(self, *, dtype: str, device: str, variant: str) -> None:
        self.dtype, self.device = dtype, device
        self.variant = require_variant("torch", variant)
        self.networks: dict[str, nn.Module] = {}
        self.targets: dict[str, nn.Module] = {}
        self.parameters: dict[str, dict[str, Tensor]] = {}
        self.target_parameters: dict[str, dict[str, Tensor]] = {}
        self.optimizers: dict[str, optimizers.Optimizer] = {}
        self.step = 0
        self.traces = 0
        self._known: dict[str, np.ndarray] = {}  # names and shapes of the state
        self._accepted: set[tuple[Any, ...]] = set()  # names, shapes and dtypes of arguments

    def add(
        self,
        group: str,
        make: Callable[..., nn.Module],
        config: Any,
        optimizer: AdamConfig | RMSpropConfig,
        *,
        target: bool = True,
    ) -> None:
        """Make a network, its optimizer and, unless told otherwise, its target network."""
        self.networks[group] = make(config, dtype=self.dtype, device=self.device)
        self.parameters[group] = networks.network_parameters(self.networks[group])
        self.optimizers[group] = _optimizer(optimizer, self.parameters[group])
        if target:
            self.targets[group] = make(config, dtype=self.dtype, device=self.device)
            self.targets[group].requires_grad_(False)
            self.target_parameters[group] = networks.network_parameters(self.targets[group])

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
            networks.load_parameters(self.networks[group], _below(f"param/{group}", state))
            slots = _below(f"slot/{group}", state)
            optimizer.load_slots({name: _turned(name, value) for name, value in slots.items()})
            optimizer.set_learning_rate(float(state[f"learning_rate/{group}"]))
        for group, network in self.targets.items():
            networks.load_parameters(network, _below(f"target/{group}", state))
        self.step = int(state["step"])

    def to_canonical(self, values: Mapping[str, Tensor]) -> dict[str, np.ndarray]:
        return networks.canonical(values)

    def from_canonical(self, values: Mapping[str, np.ndarray]) -> dict[str, Tensor]:
        dtype = getattr(torch, self.dtype)
        return {
            name: torch.tensor(_turned(name, value), dtype=dtype, device=self.device)
            for name, value in values.items()
        }

    def gradients(self, loss: Tensor, group: str) -> dict[str, Tensor]:
        """The gradient of a loss for one network's parameters, and no other's."""
        parameters = self.parameters[group]
        found = torch.autograd.grad(loss, list(parameters.values()))
        return dict(zip(parameters, found, strict=True))

    def update_target(self, group: str, tau: float) -> None:
        """Move one target network by Polyak averaging."""
        target_update.polyak_update(self.target_parameters[group], self.parameters[group], tau)

    def require(
        self,
        batch: Mapping[str, Tensor],
        draws: Mapping[str, Tensor],
        layouts: Layouts,
        finite: bool,
        fit: Callable[..., None] = require_arguments,
    ) -> None:
        """Refuse a batch and draws that do not fit their layouts."""
        given = {"batch": batch, "draws": draws}
        fields = [(n, t.shape, t.dtype) for g in given.values() for n, t in g.items()]
        form = (len(batch), *fields)
        if form not in self._accepted:  # looked at once: 0.02 ms, in every update
            fit(
                {
                    w: {n: (tuple(t.shape), _dtype_name(t)) for n, t in g.items()}
                    for w, g in given.items()
                },
                layouts,
            )
            self._accepted.add(form)
        if not finite:
            return
        tensors = [t for g in given.values() for t in g.values() if t.is_floating_point()]
        # one answer for all fields: a device is waited for once
        if not bool(torch.stack([torch.isfinite(t).all() for t in tensors]).all()):
            require_finite(
                {w: {n: t.detach().cpu().numpy() for n, t in g.items()} for w, g in given.items()}
            )

    def compiled(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function as this learner's variant runs it; one graph, or an error."""
        if self.variant == "eager":
            return function
        return Graphs(function, self._inductor)

    def _inductor(self, graph: torch.fx.GraphModule, inputs: list[Tensor]) -> Callable[..., Any]:
        """Inductor, counting what it compiles."""
        compiled: Callable[..., Any] = torch._inductor.compile(graph, inputs)
        self.traces += 1
        return compiled


def _optimizer(
    config: AdamConfig | RMSpropConfig, parameters: Mapping[str, Tensor]
) -> optimizers.Optimizer:
    """The optimizer that a configuration is of."""
    if isinstance(config, AdamConfig):
        return optimizers.Adam(config, parameters)
    return optimizers.RMSprop(config, parameters)


def _under(prefix: str, values: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {f"{prefix}/{name}": value for name, value in values.items()}


def _below(prefix: str, state: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    start = f"{prefix}/"
    return {n[len(start) :]: v for n, v in state.items() if n.startswith(start)}


def _turned(name: str, value: np.ndarray) -> np.ndarray:
    """A dense kernel from canonical ``[in, out]`` to torch's ``[out, in]``."""
    return np.array(value.T if name.rpartition("/")[2] == "kernel" else value)


def _dtype_name(tensor: Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")
