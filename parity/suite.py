"""Every check of a set of components, in every dtype and mode that it declares.

The list is made from the specs alone, so that collecting a suite imports no framework.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from parity.component import Check, Component
from parity.errors import InvalidInput
from parity.report import Report
from parity.runner import load_siblings, run_check

FRAMEWORKS = ("torch", "tf")


@dataclass(frozen=True)
class SuiteCase:
    """One check in one dtype and mode.

    Attributes:
        package: where the component's files are, e.g. ``impls.returns``.
    """

    package: str
    component: Component
    check: Check
    dtype: str
    mode: str

    @property
    def id(self) -> str:
        """``returns/function.n_step_return[truncated]-float32-eager``, as in the report."""
        head = f"{self.component.name}/{self.check.label}[{self.check.case}]"
        return f"{head}-{self.dtype}-{self.mode}"

    @property
    def needs(self) -> tuple[str, ...]:
        """Packages without which it cannot run."""
        return (*FRAMEWORKS, *self.check.needs)

    def run(self, *, device: str = "cpu") -> Report:
        """Import the siblings, run the check and judge it."""
        siblings = load_siblings(self.package)
        return run_check(
            self.component, self.check, siblings, dtype=self.dtype, mode=self.mode, device=device
        )


def suite_cases(components: Mapping[str, Component]) -> list[SuiteCase]:
    """All cases of the components, in the order of their specs.

    Args:
        components: package -> component.

    Raises:
        InvalidInput: two cases have the same id, or a check declares no dtype or no mode: it
            would be in the suite and never run.
    """
    cases = []
    for package, component in components.items():
        if not component.checks:
            raise InvalidInput(f"component {component.name!r} has no checks")
        for check in component.checks:
            if not (check.dtypes and check.modes):
                raise InvalidInput(
                    f"{component.name}: {check.label}[{check.case}] declares no dtype or no mode"
                )
            cases += [
                SuiteCase(package, component, check, dtype, mode)
                for mode in check.modes
                for dtype in check.dtypes
            ]
    counts = Counter(case.id for case in cases)
    if repeated := [name for name, count in counts.items() if count > 1]:
        raise InvalidInput(f"these checks need distinct case names: {', '.join(repeated)}")
    return cases
