"""NumPy's random numbers, recorded as operations: generators that are made or used inside."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from parity.backends import numpy_intercept

_METHODS = (
    "rand randn random random_sample normal uniform standard_normal randint choice permutation "
    "integers exponential beta gamma binomial poisson laplace multivariate_normal dirichlet"
).split()


def _telling(name: str, draw: Callable[..., Any]) -> Callable[..., Any]:
    """``draw``, whose result the listener is told of."""

    def function(*args: Any, **kwargs: Any) -> Any:
        def run(given: Any = None, op: str | None = None) -> Any:
            return draw(*args, **kwargs)

        return numpy_intercept._told(f"Random.{name}", [], run, sys._getframe(1))

    return function


def _subclass(base: type, meta: type = type) -> Any:
    """A generator class whose drawing methods tell of what they draw."""

    def method(name: str) -> Callable[..., Any]:
        def function(self: Any, *args: Any, **kwargs: Any) -> Any:
            def run(given: Any = None, op: str | None = None) -> Any:
                return getattr(base, name)(self, *args, **kwargs)

            return numpy_intercept._told(f"Random.{name}", [], run, sys._getframe(1))

        return function

    members = {n: method(n) for n in _METHODS if hasattr(base, n)}
    return meta(base.__name__, (base,), members)


class _Kind(type):
    """Generators that were made before count as instances too."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, cls.__mro__[1])


@contextmanager
def drawing() -> Iterator[None]:
    """Generators made inside, and NumPy's global one, tell the listener of what they draw."""
    names = [n for n in (*_METHODS, "default_rng", "RandomState") if hasattr(np.random, n)]
    kept = {n: getattr(np.random, n) for n in names}
    generator = _subclass(np.random.Generator)

    def default_rng(seed: Any = None) -> Any:
        made = kept["default_rng"](seed)
        return made if made is seed else generator(made.bit_generator)

    try:
        for name, original in kept.items():
            if name == "default_rng":
                replacement: Any = default_rng
            elif name == "RandomState":
                # a hypothesis may have put a class of its own there
                replacement = _subclass(original, _Kind) if type(original) is type else original
            else:
                replacement = _telling(name, original)
            setattr(np.random, name, replacement)
        yield
    finally:
        for name, original in kept.items():
            setattr(np.random, name, original)
