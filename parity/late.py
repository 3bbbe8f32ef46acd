"""Arrays that are made when they are read: what is compared once need not be kept until then."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np

from parity.trace import Trace


@dataclass(frozen=True)
class Late:
    """An array that does not exist yet.

    Attributes:
        shape, dtype: what it will have.
        make: returns it; called whenever it is read, with the same values each time.
    """

    shape: tuple[int, ...]
    dtype: np.dtype
    make: Callable[[], np.ndarray] = field(repr=False)


class LateTrace(Trace):
    """A trace, some of whose entries are made anew whenever they are asked for."""

    def __init__(self, *, side: str = "") -> None:
        super().__init__(side=side)
        self._late: dict[str, Late] = {}

    def later(self, name: str, late: Late) -> None:
        """Append one entry that is to be made when it is read."""
        self.add(name, np.broadcast_to(np.zeros((), late.dtype), late.shape), copy=False)
        self._late[name] = late

    def __getitem__(self, name: str) -> np.ndarray:
        late = self._late.get(name)
        return super().__getitem__(name) if late is None else late.make()

    def items(self) -> Iterable[tuple[str, np.ndarray]]:
        return ((name, self[name]) for name in self)
