"""What can go wrong, as exception types that say whose fault it is.

``ParityMismatch`` is the answer of an assertion (the two sides differ); everything else is a
misuse or a missing part, and carries what was wrong, where, and what to do about it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from parity.report import Report


class ParityError(Exception):
    """Base of everything that this package raises on purpose."""


class ParityMismatch(ParityError, AssertionError):
    """The sides differ. ``report`` holds the evidence; the text is its rendering."""

    def __init__(self, message: str, report: Report) -> None:
        super().__init__(message)
        self.report = report


class VacuousComparison(ParityError, AssertionError):
    """The comparison proves nothing: no values, only zeros, or one object compared with itself."""

    def __init__(self, message: str, report: Report | None = None) -> None:
        super().__init__(message)
        self.report = report


class InvalidInput(ParityError, ValueError):
    """An argument is of the wrong kind, shape or dtype, or a file does not hold what it should."""


class MissingFramework(ParityError, ImportError):
    """A package that this check needs is not installed."""


class AlignmentError(ParityError):
    """Entries or layers of the two sides cannot be paired without guessing."""


class TransferError(ParityError):
    """Weights cannot be moved: a tensor has no partner, or a partner of another shape or kind."""
