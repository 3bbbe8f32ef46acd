"""Places in code: which instruction of whose function asked for an operation.

A site is the chain of frames from the user's innermost function down to the framework's operation,
each with the instruction it stood at. The same instruction in a loop is the same site, so a site is
a place in the program where a value is made, however often it is made there.
"""

from __future__ import annotations

import linecache
import os
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from types import CodeType, FrameType
from typing import Any

#: Code below these packages is the machinery, not the user's.
LIBRARIES = (
    "tensorflow", "keras", "tf_keras", "torch", "numpy", "wrapt", "optree", "absl", "gym",
    "gymnasium", "parity", "scipy",
)  # fmt: skip
_DEEPEST = 60
_kinds: dict[CodeType, bool] = {}


@dataclass(frozen=True)
class Site:
    """Where an operation was asked for.

    Attributes:
        op: the framework's name of the operation.
        chain: (code, instruction) from the operation outwards to the user's function.
        number: tells apart several operations of one instruction.
    """

    op: str
    chain: tuple[tuple[CodeType, int], ...]
    number: int = 0

    @property
    def user(self) -> tuple[CodeType, int] | None:
        """The innermost frame of the user's own code."""
        if not self.chain or is_library(self.chain[-1][0]):
            return None
        return self.chain[-1]

    @property
    def place(self) -> str:
        """``file.py:12`` of the user's line; empty where all code is a library's."""
        if self.user is None:
            return ""
        code, instruction = self.user
        return f"{os.path.basename(code.co_filename)}:{line_of(code, instruction)}"

    @property
    def source(self) -> str:
        """The expression at that place where Python knows it, else the whole line."""
        return expression(*self.user) if self.user is not None else ""

    @property
    def function(self) -> str:
        return self.user[0].co_name if self.user is not None else ""

    def within(self, name: str) -> bool:
        """Whether a function of this name lies between the user's line and the operation."""
        return any(code.co_name == name for code, _ in self.chain)


def is_library(code: CodeType) -> bool:
    """True for code of the frameworks, of Python itself and of this package."""
    known = _kinds.get(code)
    if known is None:
        known = _kinds[code] = code.co_filename.startswith(_roots())
    return known


_found_roots: list[tuple[str, ...]] = []


def _roots() -> tuple[str, ...]:
    """Folders of the libraries; those imported later are looked up again as they come."""
    present = tuple(name for name in LIBRARIES if name in sys.modules)
    if not _found_roots or len(_found_roots[0]) != len(present):
        folders = ["<", sysconfig.get_paths()["stdlib"] + os.sep + "contextlib"]
        stdlib = sysconfig.get_paths()["stdlib"] + os.sep
        folders += [stdlib + part for part in ("functools", "inspect", "copy", "typing")]
        for name in present:
            file = getattr(sys.modules[name], "__file__", None)
            if file:
                folders.append(os.path.dirname(file) + os.sep)
        _found_roots[:] = [present, tuple(folders)]
        _kinds.clear()
    return _found_roots[1]


def frames(start: FrameType | None) -> Iterator[FrameType]:
    """Frames from ``start`` outwards to the user's innermost one (included)."""
    frame, count = start, 0
    while frame is not None and count < _DEEPEST:
        if frame.f_code.co_filename == _CALLER:
            return  # what called the function under check is not part of it
        yield frame
        if not is_library(frame.f_code):
            return
        frame, count = frame.f_back, count + 1


def chain_of(start: FrameType | None) -> tuple[tuple[CodeType, int], ...]:
    """The chain of a site, from the frame that calls the operation; what this package puts in
    between is left out, since it is not there in every run."""
    return tuple((f.f_code, f.f_lasti) for f in frames(start) if not _own(f.f_code))


def _own(code: CodeType) -> bool:
    return code.co_filename.startswith(_HERE)


_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_CALLER = os.path.join(_HERE, "debug", "calls.py")


def line_of(code: CodeType, instruction: int) -> int:
    """The line of an instruction."""
    for start, end, line in code.co_lines():
        if start <= instruction < end and line is not None:
            return line
    return code.co_firstlineno


def expression(code: CodeType, instruction: int) -> str:
    """The source text that an instruction belongs to."""
    number = line_of(code, instruction)
    whole = linecache.getline(code.co_filename, number).strip()
    positions: Any = getattr(code, "co_positions", None)  # Python 3.11 and later
    if positions is None:
        return whole
    first, last, start, end = next(islice(positions(), instruction // 2, None), (None,) * 4)
    if first is None or start is None or end is None or first != last:
        return whole
    line = linecache.getline(code.co_filename, first).encode()
    return line[start:end].decode(errors="replace").strip() or whole
