"""The pytest plugin: markers, the ``parity`` fixture, the summary, and the files of a run.

Loaded by pytest in every environment that has this package, so it imports no framework. Rows
travel in ``report.user_properties`` and so reach the main process under pytest-xdist too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from parity import github
from parity.errors import InvalidInput
from parity.github import head
from parity.recorder import PAGE, PROPERTY, TEXT, ParityRecorder
from parity.requirements import VARIABLE, missing, module_name, required
from parity.results import SEVERITY, Results, Row
from parity.summary import Line, summary_lines
from parity.verdict import Verdict

if TYPE_CHECKING:
    from _pytest.terminal import TerminalReporter

MARKERS = (
    "parity: compares paired implementations; added to every test that uses the parity fixture",
    "gpu: needs a GPU",
)
_OWN_RUNS = ("gpu", "benchmark", "learning")
"""Markers of suites with a run of their own: the fixture does not pull these into ``-m parity``."""

FILES = ("json", "html", "markdown")
"""What a run writes: ``--parity-json`` and so on."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("parity", "paired implementations")
    group.addoption(
        "--parity-json",
        metavar="PATH",
        default=None,
        help="write the result of every parity check to PATH as JSON (schema 1)",
    )
    group.addoption(
        "--parity-html",
        metavar="PATH",
        default=None,
        help="write a page of every check to PATH, with what failed in full",
    )
    group.addoption(
        "--parity-markdown",
        metavar="PATH",
        default=None,
        help="append a summary for a pull request to PATH, such as $GITHUB_STEP_SUMMARY",
    )
    group.addoption(
        "--parity-record",
        metavar="DIR",
        default=None,
        help="run one side of every component (--parity-side) and write its recordings to DIR",
    )
    group.addoption(
        "--parity-side",
        choices=("torch", "tf"),
        default=None,
        help="the side that --parity-record runs",
    )
    group.addoption(
        "--parity-against",
        metavar="DIR",
        default=None,
        help="compare the side that is installed here with the recordings in DIR",
    )
    group.addoption(
        "--parity-device",
        choices=("gpu", "cpu"),
        default="gpu",
        help="where tests marked gpu run; cpu runs every body of theirs without a GPU",
    )


def pytest_configure(config: pytest.Config) -> None:
    for marker in MARKERS:
        config.addinivalue_line("markers", marker)
    try:
        needed = required()
    except InvalidInput as error:
        raise pytest.UsageError(str(error)) from None
    _refuse_half_an_exchange(config)
    targets = {name: _target(config, f"--parity-{name}") for name in FILES}
    if targets["html"] is not None:
        _collect_details(config)
    if not hasattr(config, "workerinput"):  # under xdist the main process alone reports
        collector = Collector(config, needed, targets)
        config.pluginmanager.register(collector, "parity-collector")


def _target(config: pytest.Config, option: str) -> Path | None:
    path = config.getoption(option)
    target = None if path is None else Path(config.invocation_params.dir) / path
    if target is not None and target.is_dir():
        raise pytest.UsageError(f"{option}: {path} is a directory; name a file")
    return target


def _collect_details(config: pytest.Config) -> None:
    """Histograms and worst places for the page, for the length of the run."""
    from parity.details import collecting

    scope = ExitStack()
    scope.enter_context(collecting())
    config.add_cleanup(scope.close)


def _refuse_half_an_exchange(config: pytest.Config) -> None:
    record, side, against = (
        config.getoption(name) for name in ("--parity-record", "--parity-side", "--parity-against")
    )
    if record and against:
        raise pytest.UsageError("give --parity-record or --parity-against, not both")
    if bool(record) != bool(side):
        raise pytest.UsageError("--parity-record DIR and --parity-side torch|tf go together")


@pytest.fixture
def parity(request: pytest.FixtureRequest) -> ParityRecorder:
    """``parity.compare(torch=..., tf=...)``: assert that two sides agree and record the result."""
    return ParityRecorder(request.node)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        uses = "parity" in getattr(item, "fixturenames", ())
        if uses and not any(item.get_closest_marker(name) for name in _OWN_RUNS):
            item.add_marker("parity")


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, Any, Any]:
    __tracebackhide__ = True
    result = yield
    recorder = pyfuncitem.funcargs.get("parity")
    if isinstance(recorder, ParityRecorder) and recorder.recorded == 0:
        recorder.fail("the test took the parity fixture and compared nothing: it proves nothing")
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, Any]:
    report = yield
    _shorten(report)
    # `report.keywords` cannot tell: the name of a folder called parity stands there too
    report.parity_marked = item.get_closest_marker("parity") is not None
    return report


def _shorten(report: pytest.TestReport) -> None:
    """The failure's message in JUnit XML and in the short summary: the report's first lines."""
    crash = getattr(report.longrepr, "reprcrash", None)
    if crash is None or not any(name == TEXT for name, _ in report.user_properties):
        return
    text = re.sub(r"^(Failed|parity\.errors\.\w+): ", "", crash.message)
    if text.partition(" ")[0].lower() in SEVERITY:
        crash.message = head(text)


class Collector:
    """Gathers the rows of all tests; writes the files and the summary at the end."""

    def __init__(
        self,
        config: pytest.Config,
        needed: tuple[str, ...],
        targets: Mapping[str, Path | None],
    ) -> None:
        self.config = config
        self.needed = needed
        self.targets = targets
        self.shown: list[Row] = []
        """What the page shows in full."""
        self.failed: dict[str, list[Row]] = {}
        """Node id -> the texts and annotations of what did not pass."""
        self.results = Results()
        self.complaints: list[str] = []
        self.written: list[Path] = []
        self.asked = False
        """A test marked ``parity`` was met, or ``-m`` asked for some."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        marked = bool(getattr(report, "parity_marked", False))
        self.asked |= marked
        node, results = report.nodeid, self.results
        rows = [json.loads(str(v)) for k, v in report.user_properties if k == PROPERTY]
        if report.when == "call":
            self.shown += [json.loads(str(v)) for k, v in report.user_properties if k == PAGE]
        texts = [json.loads(str(v)) for k, v in report.user_properties if k == TEXT]
        report.user_properties = _readable(report.user_properties, rows)
        if texts:
            self.failed[node] = texts
        if rows:
            results.rows[node] = rows
            results.silent.discard(node)
        if not (marked or rows) or hasattr(report, "wasxfail"):
            return
        if report.skipped:
            results.skipped[node] = _skip_reason(report)
        elif report.failed and not any(_is_bad(row) for row in rows):
            results.errors[node] = _first_line(report)
        elif report.when == "call" and report.passed and not rows:
            results.silent.add(node)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.config.option.collectonly:
            return
        stopped = session.exitstatus in (
            pytest.ExitCode.INTERRUPTED,
            pytest.ExitCode.INTERNAL_ERROR,
        )
        if stopped and (self.asked or self.targets["json"] is not None):
            self.results.errors["session"] = "the run was interrupted: checks are missing here"
        self.complaints = self._complaints()
        self._write("json", self.results.save)
        self._write("html", self._save_page)
        self._write("markdown", self._save_markdown)
        green = (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
        if self.complaints and session.exitstatus in green:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: TerminalReporter) -> None:
        results = self.results
        if results.rows or results.skipped or results.errors or self.complaints:
            terminalreporter.write_sep("=", "parity")
            table = self.config.get_verbosity() >= 0
            lines = [*summary_lines(results, table=table)]
            lines += [Line(text, "red") for text in self.complaints]
            for line in lines:
                markup = {line.style: True, "bold": line.style == "red"} if line.style else {}
                terminalreporter.write_line(line.text, **markup)
            for path in self.written:
                terminalreporter.write_line(f"written: {path}")

        if github.wanted():
            for command in self._annotations():
                terminalreporter.write_line(command)

    def _annotations(self) -> list[str]:
        """A command to the runner of GitHub Actions for each failure."""
        found = [row["annotation"] for texts in self.failed.values() for row in texts]
        found += [
            github.command(f"{name}: {text}", "parity: raised before a verdict")
            for name, text in sorted(self.results.errors.items())
        ]
        found += [github.command(text, "parity") for text in self.complaints]
        return github.limited(found)

    def _write(self, kind: str, save: Callable[[Path], None]) -> None:
        option, path = f"--parity-{kind}", self.targets[kind]
        if path is None:
            return
        try:
            save(path)
            self.written.append(path)
        except OSError as error:
            self.complaints.append(f"{option}: cannot write {path}: {error}")

    def _save_page(self, path: Path) -> None:
        from parity.html.page import write_page
        from parity.html.suite import suite_page

        write_page(path, suite_page(self.results, self.shown))

    def _save_markdown(self, path: Path) -> None:
        from parity.markdown import append_markdown, suite_markdown

        texts = [row for texts in self.failed.values() for row in texts]
        append_markdown(path, suite_markdown(self.results, texts))

    def _complaints(self) -> list[str]:
        """Why the run as a whole must not be green, beyond its failed tests."""
        found = []
        if absent := missing(self.needed):
            names = ", ".join(module_name(name) for name in absent)
            found.append(f"{VARIABLE}: required but not installed: {names}")
        asked = self.asked or _asks_for_parity(self.config.getoption("markexpr") or "")
        if self.needed and asked and not self.results.rows:
            found.append(f"{VARIABLE} is set, but this run executed no parity check")
        if self.results.duplicates:
            found.append("several checks share an id; see above")
        return found


def _asks_for_parity(expression: str) -> bool:
    """True for ``-m`` expressions that select the marker, not for those that exclude it."""
    return re.search(r"(?<!not )\bparity\b", expression) is not None


def _readable(properties: Iterable[tuple[str, object]], rows: list[Row]) -> list[Any]:
    """What JUnit XML shows of a test: its own properties, and a line for each comparison."""
    own = [(k, v) for k, v in properties if k not in (PROPERTY, PAGE, TEXT)]
    said = [
        f"{row['id']}: {row['verdict']}, max abs {row['max_abs']}, allowed {row['allowed']}, "
        f"{row['values_compared']} values"
        for row in rows
    ]
    return own + [(PROPERTY, text) for text in said]


def _is_bad(row: Row) -> bool:
    return SEVERITY[row["verdict"]] > SEVERITY[Verdict.CHAOS.value]


def _skip_reason(report: pytest.TestReport) -> str:
    longrepr = report.longrepr
    text = str(longrepr[2]) if isinstance(longrepr, tuple) else str(longrepr)
    return text.removeprefix("Skipped: ")


def _first_line(report: pytest.TestReport) -> str:
    crash = getattr(report.longrepr, "reprcrash", None)
    text = crash.message if crash is not None else str(report.longrepr)
    return str(text).strip().partition("\n")[0]
