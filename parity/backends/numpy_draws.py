"""NumPy's random numbers, recorded as operations: generators that are made or used inside."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from parity.backends import numpy_intercept

_FUNCTIONS = (
    "rand randn random random_sample normal uniform standard_normal randint choice permutation "
    "integers exponential beta gamma binomial poisson laplace multivariate_normal dirichlet"
).split()


class Drawing:
    """A generator that tells of what it draws."""

    def __init__(self, generator: Any) -> None:
        self._generator = generator

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._generator, name)
        return _telling(name, value) if name in _FUNCTIONS else value


def _telling(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    import sys

    def draw(*args: Any, **kwargs: Any) -> Any:
        def run(given: Any = None, op: str | None = None) -> Any:
            return function(*args, **kwargs)

        return numpy_intercept._told(f"Random.{name}", [], run, sys._getframe(1))

    return draw


@contextmanager
def drawing() -> Iterator[None]:
    """Generators made inside, and NumPy's global one, tell the listener of what they draw."""
    kept = {n: getattr(np.random, n) for n in (*_FUNCTIONS, "default_rng", "RandomState")
            if hasattr(np.random, n)}  # fmt: skip

    def making(original: Callable[..., Any]) -> Callable[..., Any]:
        def make(*args: Any, **kwargs: Any) -> Any:
            return Drawing(original(*args, **kwargs))

        return make

    try:
        for name, original in kept.items():
            wrap = making if name in ("default_rng", "RandomState") else None
            setattr(np.random, name, wrap(original) if wrap else _telling(name, original))
        yield
    finally:
        for name, original in kept.items():
            setattr(np.random, name, original)
