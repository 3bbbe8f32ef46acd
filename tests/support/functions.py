"""A component's functions on plain arrays, in float64, for tests of identities."""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

import numpy as np

from parity.backends import get_backend, to_numpy
from parity.checks import cast_inputs, cotangents_for, rng_for
from parity.checks.function import FunctionCheck
from parity.compare import compare_arrays
from parity.runner import load_siblings
from parity.tolerance import default_tolerance
from parity.trace import flatten

SIDES = ("torch", "tf", "reference")
STEP = 1e-6
"""Of a central difference: it keeps about half of the digits."""


class Functions:
    """The functions of one side."""

    def __init__(self, component: str, side: str) -> None:
        self.side = side
        self.impl: ModuleType = load_siblings(f"impls.{component}")[side]
        self.backend = get_backend(side)

    def tensor(self, value: Any) -> Any:
        """An array as the side's tensor; anything else as it is."""
        return self.backend.tensor(value) if isinstance(value, np.ndarray) else value

    def __call__(self, name: str, *arguments: Any, **options: Any) -> Any:
        tensors = [self.tensor(np.asarray(a)) for a in arguments]
        keywords = {key: self.tensor(value) for key, value in options.items()}
        found = getattr(self.impl, name)(*tensors, **keywords)
        return tuple(map(to_numpy, found)) if isinstance(found, tuple) else to_numpy(found)

    def gradients(
        self, name: str, inputs: Mapping[str, np.ndarray], *wrt: str, **options: Any
    ) -> dict[str, np.ndarray]:
        """Gradients of the sum of the outputs; zeros where none flows."""
        if self.side == "reference":
            ones = {p: np.ones(np.shape(v)) for p, v in flatten(self(name, **inputs, **options))}
            found = getattr(self.impl, f"{name}_vjp")(cotangents=ones, **inputs, **options)
        else:
            _, found = self.backend.value_and_grad(
                lambda **tensors: getattr(self.impl, name)(**tensors, **options),
                inputs,
                wrt=wrt,
                cotangents=lambda _, shape: np.ones(shape),
                dtype="float64",
            )
        return {n: np.zeros_like(inputs[n]) if found[n] is None else found[n] for n in wrt}


def same(left: Any, right: Any) -> None:
    """The two agree to the project's float64 tolerance, and hold something."""
    left, right = np.asarray(left), np.asarray(right)
    found = compare_arrays(left, right, tolerance=default_tolerance("float64"))
    assert found.size > 0
    assert found.agrees, found


def assert_reference_slope(component: str, check: FunctionCheck) -> None:
    """The hand-written gradient of the reference is the slope of its own function."""
    impl = load_siblings(f"impls.{component}")["reference"]
    inputs = cast_inputs(check.inputs(rng_for(check)), "float64")
    weigh = cotangents_for(check)

    def total(**changed: np.ndarray) -> float:
        outputs = getattr(impl, check.name)(**{**inputs, **changed}, **check.options)
        return float(sum(np.sum(v * weigh(p, np.shape(v))) for p, v in flatten(outputs)))

    outputs = getattr(impl, check.name)(**inputs, **check.options)
    cotangents = {path: weigh(path, np.shape(v)) for path, v in flatten(outputs)}
    found = getattr(impl, f"{check.name}_vjp")(cotangents=cotangents, **inputs, **check.options)
    assert set(found) == set(check.gradients)
    # of a central difference: rounding of the value, and the curvature times the step
    bound = np.sqrt(default_tolerance("float64").atol)
    for name in found:
        assert found[name].shape == inputs[name].shape
        for index in np.ndindex(inputs[name].shape):
            up, down = inputs[name].copy(), inputs[name].copy()
            up[index] += STEP
            down[index] -= STEP
            slope = (total(**{name: up}) - total(**{name: down})) / (2.0 * STEP)
            gap = abs(slope - found[name][index])
            assert gap <= bound * max(1.0, abs(slope)), (name, index, slope, found[name][index])


def assert_traceable(component: str, check: FunctionCheck) -> None:
    """torch traces the function in one graph, with the same result."""
    import torch

    functions = Functions(component, "torch")
    inputs = cast_inputs(check.inputs(rng_for(check)), "float64")
    tensors = {name: functions.tensor(array) for name, array in inputs.items()}
    function = getattr(functions.impl, check.name)
    torch._dynamo.reset()
    traced = torch.compile(function, fullgraph=True, backend="eager")
    found, plain = traced(**tensors, **check.options), function(**tensors, **check.options)
    for (_, left), (_, right) in zip(flatten(found), flatten(plain), strict=True):
        assert torch.equal(left, right)
