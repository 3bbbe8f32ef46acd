"""The vocabulary of a component's ``spec.py``: contract, checks, mutants and error cases.

A component is a folder with ``spec.py`` and three siblings that implement its contract:
``numpy_ref.py`` (the float64 oracle), ``torch_impl.py`` and ``tf_impl.py``. Specs import no
framework, so that collecting a suite stays fast.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar

from parity.tolerance import Tolerance

if TYPE_CHECKING:
    from parity.backends.base import Backend
    from parity.recording.sides import StoredSide
    from parity.report import Problem
    from parity.trace import Trace

SIBLINGS: Mapping[str, str] = {
    "torch": "torch_impl",
    "tf": "tf_impl",
    "reference": "numpy_ref",
}
DTYPES = ("float32", "float64")
#: mode -> how each framework runs the subject. ``reference`` is always plain NumPy.
MODES: Mapping[str, Mapping[str, str]] = {
    "eager": {"torch": "eager", "tf": "eager"},
    "compiled": {"torch": "compile", "tf": "function"},
    "xla": {"torch": "eager", "tf": "xla"},
}


@dataclass(frozen=True)
class Side:
    """One implementation under a check.

    Attributes:
        name: ``torch``, ``tf`` or ``reference``; checks that compare a variant with eager add
            sides such as ``torch-eager``.
        impl: the sibling module.
        dtype: floating dtype of this run; the reference gets the same input values and computes
            in float64.
        variant: how this side runs: ``eager``, ``compile``, ``function`` or ``xla``.
    """

    name: str
    impl: ModuleType
    backend: Backend
    dtype: str
    variant: str = "eager"
    device: str = "cpu"

    @property
    def is_reference(self) -> bool:
        return self.name == "reference"


@dataclass
class Recording:
    """What a check recorded: a trace per side, and findings that are not numbers.

    ``compiles`` counts the graphs that each compiled side made for its step, where a check knows.
    ``modules`` (side -> its pass and its module) and ``answers`` (side -> what its environment and
    policy answered) are what a recording of one side keeps beyond the trace, where there is such.
    """

    traces: dict[str, Trace]
    problems: list[Problem] = field(default_factory=list)
    compiles: dict[str, int] = field(default_factory=dict)
    modules: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    answers: dict[str, dict[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Check(ABC):
    """One subject under one case. Subclasses live in ``parity/checks/``.

    Attributes:
        name: what is under test, by its name in the contract (``n_step_return``).
        case: name of the input case; distinct per (kind, name) within a component.
        modes: of :data:`MODES`.
        dtypes: floating dtypes to run in.
        tolerances: dtype -> {glob of entry names -> Tolerance}; the default elsewhere.
        expect_zero: globs of entries that are zero on purpose.
    """

    kind: ClassVar[str]
    name: str
    case: str
    modes: tuple[str, ...] = ("eager",)
    dtypes: tuple[str, ...] = DTYPES
    tolerances: Mapping[str, Mapping[str, Tolerance]] = field(default_factory=dict)
    expect_zero: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    """Packages beyond the frameworks: ``gymnasium``, ``gym``, ``mujoco``, ``Box2D``."""

    @abstractmethod
    def record(self, sides: Mapping[str, Side]) -> Recording:
        """Run every side on the same inputs and record what each did."""

    def record_against(self, sides: Mapping[str, Side], stored: StoredSide) -> Recording:
        """Run these sides, with one more that was recorded elsewhere.

        Checks whose sides hand values to one another override it.
        """
        from parity.recording.sides import merged

        return merged(stored, self.record(sides))

    @property
    def label(self) -> str:
        """``function.n_step_return``: what mutants name in ``caught_by``."""
        return f"{self.kind}.{self.name}"


@dataclass(frozen=True)
class Mutant:
    """A planted bug: one edit of a sibling's source, as an engineer would make it by mistake.

    Attributes:
        id: short name, unique within the component.
        find: text that occurs exactly once in the sibling's source.
        replace: what stands there instead.
        caught_by: label of the check that must turn red (``function.n_step_return``).
        because: the mistake in words; shown by the suite that plants it.
        sibling: which file is edited; the TensorFlow side unless the bug belongs elsewhere.
        case: restricts the check to one case where only that one can show it.
        mode: the mode to run the check in.
        dtype: the dtype to run the check in.
    """

    id: str
    find: str
    replace: str
    caught_by: str
    because: str
    sibling: str = "tf"
    case: str | None = None
    mode: str = "eager"
    dtype: str = "float64"


@dataclass(frozen=True)
class ErrorCase:
    """A misuse that all siblings must refuse, with the same kind of error.

    Attributes:
        call: called with a :class:`Side`; performs the misuse.
        error: the exception type that every sibling raises.
        match: regular expression that the message must contain: it names what was wrong.
        sides: siblings that it applies to.
    """

    id: str
    call: Callable[[Side], Any]
    error: type[Exception]
    match: str
    sides: tuple[str, ...] = ("torch", "tf", "reference")


@dataclass(frozen=True)
class Component:
    """A paired component.

    Attributes:
        name: the folder's name.
        contract: the documented functions and classes of ``spec.py`` that every sibling has under
            the same name with the same signature.
    """

    name: str
    contract: tuple[Callable[..., Any], ...]
    checks: tuple[Check, ...]
    mutants: tuple[Mutant, ...] = ()
    errors: tuple[ErrorCase, ...] = ()
