"""The ``parity`` fixture: compare in a test, assert, and put the result into the run's summary."""

from __future__ import annotations

import os
import shlex
from typing import Any, NoReturn

import pytest

from parity import details, github
from parity.api import compare
from parity.errors import ParityMismatch, VacuousComparison
from parity.report import Report
from parity.requirements import missing, module_name, required
from parity.results import encode_row
from parity.verdict import Verdict

PROPERTY = "parity"
"""Key of the rows in ``report.user_properties``."""
PAGE = "parity-page"
"""Key of what a page shows of a report that did not pass."""

TEXT = "parity-text"
"""Key of the text and the annotation of a report that did not pass."""


class ParityRecorder:
    """What a test gets as ``parity``."""

    def __init__(self, node: pytest.Function) -> None:
        self._node = node
        self._ids: list[str] = []

    @property
    def recorded(self) -> int:
        """Comparisons recorded so far in this test."""
        return len(self._ids)

    def compare(self, name: str = "", /, **arguments: Any) -> Report:
        """Compare the sides, record the result, and fail the test unless they agree.

        Args:
            name: tells several comparisons of one test apart.
            arguments: those of :func:`parity.compare` (``torch=``, ``tf=``, ``reference=``,
                ``tolerance=``, ``expect_zero=``).

        Raises:
            ParityMismatch: the sides differ.
            VacuousComparison: the comparison proves nothing.
        """
        __tracebackhide__ = True
        report = compare(**arguments)
        subject = {**self._subject(name, report), **report.subject}
        report = report.with_(subject=subject, reproduce=self.command)
        self._record(report, self._own_id(name))
        if report.verdict is Verdict.INVALID:
            raise VacuousComparison(str(report), report)
        if not report.passed:
            raise ParityMismatch(str(report), report)
        return report

    def check(self, *sides: Any, **arguments: Any) -> Report:
        """Check a pair as :func:`parity.check` does, record it, and fail the test unless it passes.

        Args:
            sides: the two sides and their inputs; or one report that was made elsewhere.
            arguments: those of :func:`parity.check` (``torch=``, ``tf=``, ``inputs=``, ...).
        """
        __tracebackhide__ = True
        if len(sides) == 1 and isinstance(sides[0], Report) and not arguments:
            report = self.record(sides[0])
        else:
            from parity.debug.check import check

            # TensorFlow's notes about the machine would stand under every failure
            os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
            report = check(*sides, **arguments)
            report = self.record(
                report.with_(subject={**self._subject("", report), **report.subject})
            )
        if not report.passed:
            self.fail(str(report))
        return report

    def record(self, report: Report) -> Report:
        """Record a report without asserting; returns it with the command that reproduces it."""
        report = report.with_(reproduce=report.reproduce or self.command)
        self._record(report, report.identifier if report.subject else self._own_id(""))
        return report

    def require(self, *packages: str) -> None:
        """Skip the test, loudly, where a package is missing; fail where it is required to be here.

        Args:
            packages: names as in ``PARITY_REQUIRE`` (``torch``, ``tf``, ``gymnasium``, ...).
        """
        __tracebackhide__ = True
        absent = missing(packages)
        if not absent:
            return
        names = " and ".join(module_name(name) for name in absent)
        verb = "is" if len(absent) == 1 else "are"
        if any(name in required() for name in absent):
            self.fail(f"PARITY_REQUIRE: {names} {verb} required but not installed")
        pytest.skip(f"{names} {verb} not installed")

    def fail(self, message: str) -> NoReturn:
        """Fail the test with this text and no traceback."""
        __tracebackhide__ = True
        pytest.fail(message, pytrace=False)

    @property
    def command(self) -> str:
        """A shell command that runs this test again from where pytest was started."""
        here = self._node.config.invocation_params.dir
        path = os.path.relpath(self._node.path, here)
        _, separator, name = self._node.nodeid.partition("::")
        return f"python -m pytest {shlex.quote(path + separator + name)}"

    def _own_id(self, name: str) -> str:
        return f"{self._node.nodeid}::{name}" if name else self._node.nodeid

    def _record(self, report: Report, identifier: str) -> None:
        count = self._ids.count(identifier)
        self._ids.append(identifier)
        unique = f"{identifier}#{count + 1}" if count else identifier
        row = {**report.summary(), "id": unique}
        self._node.user_properties.append((PROPERTY, encode_row(row)))
        if not report.passed:
            self._keep_text(report, unique)
        if not report.passed and details.wanted():
            from parity.html.page import report_view_with_plot

            shown = {**report_view_with_plot(report), "id": unique}
            self._node.user_properties.append((PAGE, encode_row(shown)))

    def _keep_text(self, report: Report, unique: str) -> None:
        """For summaries and annotations, which the main process writes."""
        _, line, _ = self._node.location
        here = github.Place(str(self._node.path), (line or 0) + 1)
        annotation = github.of_report(report, fallback=here)
        kept = {"id": unique, "text": str(report), "annotation": annotation}
        self._node.user_properties.append((TEXT, encode_row(kept)))

    def _subject(self, name: str, report: Report) -> dict[str, Any]:
        """What the summary calls a comparison of a user's own test."""
        function = self._node.originalname or self._node.name
        callspec = getattr(self._node, "callspec", None)
        dtypes = {
            dtype
            for entry in report.entries
            for difference in entry.differences
            for side, dtype in zip(difference.sides, difference.dtypes, strict=True)
            if side != "reference" and dtype is not None and "float" in dtype
        }
        return {
            "component": self._node.path.stem.removeprefix("test_"),
            "check": "/".join(part for part in (function.removeprefix("test_"), name) if part),
            "case": callspec.id if callspec is not None else None,
            "dtype": dtypes.pop() if len(dtypes) == 1 else None,
        }
