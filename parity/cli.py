"""The ``parity`` command. Subcommands import what they need when they run, and not before.

Exit codes: 0 the sides agree, 1 they differ, 2 misuse.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

if TYPE_CHECKING:
    from parity.report import Report
    from parity.trace import Trace

AGREE, DIFFER, MISUSE = 0, 1, 2
CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 80}


class _Commands(click.Group):
    """A fault of the harness itself is one line that says so, not a traceback over the report."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except Exception as error:
            if os.environ.get("PARITY_TRACEBACK"):
                raise
            last = error.__traceback__
            while last is not None and last.tb_next is not None:
                last = last.tb_next
            place = f" ({last.tb_frame.f_code.co_filename}:{last.tb_lineno})" if last else ""
            fail(
                f"internal error: {type(error).__name__}: {error}{place}\n"
                "This is a fault of parity, not of your code; PARITY_TRACEBACK=1 shows the whole "
                "traceback for a report."
            )


@click.group(cls=_Commands, context_settings=CONTEXT)
@click.version_option(package_name="parity")
def main() -> None:
    """Find the first place where a PyTorch and a TensorFlow side part.

    \b
    Exit codes: 0 the sides agree, 1 they differ, 2 misuse.
    """
    # TensorFlow's notes about the machine would stand above the report; its errors still show
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")


@main.command()
@click.argument("side_a")
@click.argument("side_b")
@click.option("--inputs", "function", metavar="FILE:NAME", help="Function that returns inputs.")
@click.option("--input", "drawn", multiple=True, metavar="SPEC", help="state=float32[13,3] ...")
@click.option("--train/--eval", "training", default=False, help="Mode of the modules.")
@click.option("--weights", type=click.Choice(["copy", "keep"]), default="copy", show_default=True)
@click.option("--steps", default=5, show_default=True, help="Steps of two optimizers.")
@click.option("--seed", default=0, show_default=True, help="Seed of drawn inputs.")
@click.option("--map", "map_file", type=click.Path(path_type=Path), help="torch: tf layer names.")
@click.option("--search", default=0, metavar="N", help="Try N other inputs where these agree.")
@click.option("--strict", is_flag=True, help="A latent difference is a failure too.")
@click.option("--json", "as_json", is_flag=True, help="Print the whole report as JSON.")
@click.option("--html", type=click.Path(path_type=Path), help="Write a page to this file.")
@click.option("-v", "--verbose", count=True, help="All differing entries; -vv: agreeing ones too.")
def check(
    side_a: str,
    side_b: str,
    function: str | None,
    drawn: tuple[str, ...],
    training: bool,
    weights: str,
    steps: int,
    seed: int,
    map_file: Path | None,
    search: int,
    strict: bool,
    as_json: bool,
    html: Path | None,
    verbose: int,
) -> NoReturn:
    """Check your own pair: modules, functions or optimizers of both frameworks.

    SIDE_A and SIDE_B are file.py:name or package.module:name, in either order; each names an
    object, or a function without arguments that makes one.

    \b
    parity check port.py:torch_actor port.py:tf_actor --input state=float32[13,3]
    parity check port.py:torch_loss port.py:tf_loss --inputs port.py:batch
    parity check port.py:torch_adam port.py:tf_adam --steps 10
    """
    from parity.debug.check import check as check_sides
    from parity.debug.inputs import from_descriptions, from_function, read_map
    from parity.details import collecting
    from parity.errors import ParityError
    from parity.quiet import import_frameworks
    from parity.verdict import Verdict

    import_frameworks()
    if function and drawn:
        fail("give --inputs or --input, not both")
    try:
        inputs: Any = from_descriptions(drawn, seed=seed) if drawn else None
        if function:
            inputs = from_function(function, seed=seed)
        with collecting(html is not None):
            report = check_sides(
                side_a,
                side_b,
                inputs,
                training=training,
                steps=steps,
                transfer=weights,
                names=read_map(map_file) if map_file else None,
                seed=seed,
                search=search,
            )
        report = report.with_(reproduce=report.reproduce or again())
        write_html(report, html)
    except ParityError as error:
        fail(str(error))
    show(report, as_json=as_json, verbosity=verbose)
    if report.subject.get("example") and not as_json:
        click.echo("\nfound by searching; as a test:\n\n" + report.subject["example"])
    tolerated = report.passed or (report.verdict is Verdict.LATENT and not strict)
    sys.exit(AGREE if tolerated else DIFFER)


@main.command()
@click.argument("left", type=click.Path(path_type=Path))
@click.argument("right", type=click.Path(path_type=Path))
@click.option("--reference", type=click.Path(path_type=Path), help="Float64 values of an oracle.")
@click.option("--atol", type=float, help="Bound for every entry instead of the dtype's default.")
@click.option("--expect-zero", multiple=True, metavar="GLOB", help="Entries zero on purpose.")
@click.option("--json", "as_json", is_flag=True, help="Print the whole report as JSON.")
@click.option("-v", "--verbose", count=True, help="All differing entries; -vv: agreeing ones too.")
def compare(
    left: Path,
    right: Path,
    reference: Path | None,
    atol: float | None,
    expect_zero: tuple[str, ...],
    as_json: bool,
    verbose: int,
) -> NoReturn:
    """Compare two files of arrays (.npz, .safetensors, traces), entry by entry.

    \b
    parity compare torch.npz tf.npz
    parity compare torch.npz tf.npz --reference float64.npz --json
    """
    from parity.api import compare as compare_sides
    from parity.errors import ParityError

    try:
        sides: dict[str, Any] = {"torch": read_arrays(left), "tf": read_arrays(right)}
        if reference is not None:
            sides["reference"] = read_arrays(reference)
        report = compare_sides(**sides, tolerance=atol, expect_zero=expect_zero)
        if left.resolve() == right.resolve():  # a file always agrees with itself
            report = one_file(report)
    except ParityError as error:
        fail(str(error))
    show(report, as_json=as_json, verbosity=verbose)
    sys.exit(AGREE if report.passed else DIFFER)


@main.command(name="show")
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--failed", is_flag=True, help="Only checks that did not pass.")
def show_results(path: Path, failed: bool) -> NoReturn:
    """Print the results that ``pytest --parity-json=PATH`` wrote.

    \b
    pytest -m parity --parity-json=parity.json
    parity show parity.json --failed
    """
    from parity.errors import ParityError
    from parity.results import read_results
    from parity.summary import results_table

    try:
        document = read_results(path)
    except ParityError as error:
        fail(str(error))
    checks = document["checks"]
    passing = {"agree", "rounding", "chaos"}
    bad = [row for row in checks if row["verdict"] not in passing]
    for line in results_table(bad if failed else checks):
        click.echo(line)
    for row in bad:
        place = f" at {row['first_divergence']}" if row.get("first_divergence") else ""
        click.echo(f"{row['verdict']}: {row['id']}{place}")
    raised = document["errors"]
    for failure in raised:
        click.echo(f"raised: {failure['id']}: {failure['message']}")
    click.echo(f"{len(checks)} checks, {len(checks) - len(bad)} passed, {len(bad)} failed")
    sys.exit(DIFFER if bad or raised or not checks else AGREE)


@main.command(name="gate")
@click.argument("baseline", type=click.Path(path_type=Path))
@click.argument("report", type=click.Path(path_type=Path))
@click.option("--accepted", type=click.Path(path_type=Path), help="Ledger of accepted differences.")
@click.option("--update", is_flag=True, help="Make REPORT the new BASELINE and print the diff.")
@click.option("--junit", type=click.Path(path_type=Path), help="Write JUnit XML here.")
@click.option("--markdown", type=click.Path(path_type=Path), help="Append Markdown here.")
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
def gate_command(
    baseline: Path,
    report: Path,
    accepted: Path | None,
    update: bool,
    junit: Path | None,
    markdown: Path | None,
    as_json: bool,
) -> NoReturn:
    """Fail where a run of the suite is worse than its baseline.

    Both are files of pytest --parity-json. A check that fails, an error that
    grew fourfold, a check or values that disappeared, more compiled graphs.

    \b
    pytest -m parity --parity-json=parity.json
    parity gate parity-baseline.json parity.json --update     once, then commit
    parity gate parity-baseline.json parity.json
    """
    from parity.errors import ParityError
    from parity.gate_files import Outputs, run_gate, update_baseline

    if update and (junit or markdown or as_json):
        fail("--update prints what changes in the baseline; it goes with no other output")
    try:
        if update:
            lines, code = update_baseline(baseline, report, accepted), AGREE
        else:
            outputs = Outputs(junit=junit, markdown=markdown, as_json=as_json)
            lines, passed = run_gate(baseline, report, accepted, outputs)
            code = AGREE if passed else DIFFER
    except ParityError as error:
        fail(str(error))
    for line in lines:
        click.echo(click.style(line.text, fg=line.style or None), color=colour_wanted())
    sys.exit(code)


@main.command()
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def doctor(as_json: bool) -> None:
    """Print versions and settings here, and which of them threaten parity."""
    from parity.fingerprint import fingerprint, threats

    facts = fingerprint()
    found = threats(facts)
    if as_json:
        import json

        click.echo(json.dumps({"environment": facts, "threats": found}, indent=1))
        return
    for key, value in facts.items():
        click.echo(f"{key:<28} {value}")
    click.echo()
    for line in found or ["nothing here threatens parity"]:
        click.echo(("! " if found else "") + line)


def one_file(report: Report) -> Report:
    """The report of a file that was compared with itself."""
    from parity.report import Problem, judge

    same = Problem("same-object", details={"sides": ["torch", "tf"]})
    return judge(report.with_(problems=(*report.problems, same)))


def read_arrays(path: Path) -> Trace:
    """The arrays of a ``.npz`` or safetensors file, in the file's order, as a trace.

    Raises:
        InvalidInput: the file is missing, damaged, of another kind, or holds objects.
    """
    import zipfile

    import numpy as np

    from parity.errors import InvalidInput
    from parity.trace import Trace

    if not path.is_file():
        raise InvalidInput(f"{path}: no such file")
    if path.suffix == ".npz":
        try:
            # np.load leaves the file open where it is not a zip after all
            with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
                return Trace({name: file[name] for name in file.files}, side=path.name)
        except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
            raise InvalidInput(f"{path}: not a readable .npz of numbers ({error})") from None
    if path.suffix in (".safetensors", ".trace"):
        return Trace.read_safetensors(path)
    raise InvalidInput(f"{path}: a file of arrays ends in .npz, .safetensors or .trace")


def show(report: Report, *, as_json: bool, verbosity: int) -> None:
    """Print a report for a reader or for a machine."""
    from parity.message import render

    if as_json:
        click.echo(report.to_json())
    else:
        # click strips the colours where the output is no terminal or NO_COLOR is set
        click.echo(render(report, verbosity=verbosity, colour=True), color=colour_wanted())


def again() -> str:
    """The command line, as it can be pasted."""
    import shlex

    return shlex.join(["parity", *sys.argv[1:]])


def write_html(report: Report, path: Path | None) -> None:
    """Write the page of a report, where one was asked for."""
    if path is None:
        return
    from parity.errors import InvalidInput
    from parity.html.page import report_page, write_page

    try:
        write_page(path, report_page(report))
    except OSError as error:
        raise InvalidInput(f"--html {path}: {error.strerror or error}") from None


def colour_wanted() -> bool | None:
    """False under ``NO_COLOR``; None leaves it to the terminal."""
    return False if os.environ.get("NO_COLOR") else None


def fail(message: str) -> NoReturn:
    """Say what was wrong and leave with the code for misuse."""
    click.echo(f"parity: {message}", err=True)
    sys.exit(MISUSE)


def _register() -> None:
    """Commands that have files of their own; these import nothing heavy."""
    from parity.cli_completion import completion
    from parity.cli_explain import explain
    from parity.cli_init import init
    from parity.cli_weights import weights

    for command in (weights, explain, init, completion):
        main.add_command(command)


_register()
