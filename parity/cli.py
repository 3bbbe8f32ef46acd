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
@click.option("--steps", type=int, help="Steps: of optimizers (5), of environments.")
@click.option("--seed", default=0, show_default=True, help="Seed of drawn inputs.")
@click.option("--map", "map_file", type=click.Path(path_type=Path), help="torch: tf layer names.")
@click.option("--env", "environment", metavar="ENV", help="Of agents: an id, or FILE:NAME.")
@click.option("--search", default=0, metavar="N", help="Try N other inputs where these agree.")
@click.option("--strict", is_flag=True, help="A latent difference is a failure too.")
@click.option("--json", "as_json", is_flag=True, help="Print the whole report as JSON.")
@click.option("--html", type=click.Path(path_type=Path), help="Write a page to this file.")
@click.option("--markdown", type=click.Path(path_type=Path), help="Append Markdown to this file.")
@click.option("--isolate", is_flag=True, help="Each side in a process of its own.")
@click.option("--torch-python", metavar="PATH", help="Interpreter of the torch side's process.")
@click.option("--tf-python", metavar="PATH", help="Interpreter of the tf side's process.")
@click.option("--timeout", type=float, help="Seconds that each isolated side may take.")
@click.option("-v", "--verbose", count=True, help="All differing entries; -vv: agreeing ones too.")
@click.option(
    "-q", "--quiet", is_flag=True, help="The first three lines, and nothing if it passes."
)
def check(
    side_a: str,
    side_b: str,
    function: str | None,
    drawn: tuple[str, ...],
    training: bool,
    weights: str,
    steps: int | None,
    seed: int,
    map_file: Path | None,
    environment: str | None,
    search: int,
    strict: bool,
    as_json: bool,
    html: Path | None,
    markdown: Path | None,
    isolate: bool,
    torch_python: str | None,
    tf_python: str | None,
    timeout: float | None,
    verbose: int,
    quiet: bool,
) -> NoReturn:
    """Check your own pair: modules, functions, optimizers, environments or agents.

    SIDE_A and SIDE_B are file.py:name or package.module:name, in either order; each names an
    object, or a function without arguments that makes one. Either may be a file of parity record.

    \b
    parity check port.py:torch_actor port.py:tf_actor --input state=float32[13,3]
    parity check port.py:torch_loss port.py:tf_loss --inputs port.py:batch
    parity check port.py:torch_adam port.py:tf_adam --steps 10
    parity check port.py:make_env port.py:make_tf_env
    parity check port.py:agent port.py:tf_agent --env CartPole-v1
    """
    from parity.debug.check import check as check_sides
    from parity.debug.inputs import from_descriptions, from_function, read_map
    from parity.debug.subjects import require_file
    from parity.details import collecting
    from parity.errors import ParityError
    from parity.quiet import import_frameworks
    from parity.verdict import Verdict
    from parity.waiting import waiting

    if function and drawn:
        fail("give --inputs or --input, not both")
    if isolate or torch_python or tf_python:
        from parity.cli_record import run_isolated

        options = {"function": function, "drawn": list(drawn), "training": training, "seed": seed,
                   "weights": weights, "steps": steps, "environment": environment,
                   "map_file": map_file, "search": search,
                   "strict": strict, "as_json": as_json, "html": html, "verbose": verbose,
                   "markdown": markdown, "quiet": quiet,
                   "reproduce": again()}  # fmt: skip
        run_isolated((side_a, side_b), (torch_python, tf_python), timeout, options)
    if timeout is not None:
        fail("--timeout ends a process; give --isolate too")
    try:
        with waiting(), collecting(html is not None):
            inputs: Any = from_descriptions(drawn, seed=seed) if drawn else None
            for target in (side_a, side_b, function or ""):
                require_file(target)  # a slip of the pen need not wait for the frameworks
            import_frameworks()
            if function:
                inputs = from_function(function, seed=seed)
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
                environment=environment,
            )
        report = report.with_(reproduce=report.reproduce or again())
        write_html(report, html)
        write_markdown(report, markdown)
    except ParityError as error:
        fail(str(error))
    show(report, as_json=as_json, verbosity=-1 if quiet else verbose)
    if report.subject.get("example") and not (as_json or quiet):
        click.echo("\nfound by searching; as a test:\n\n" + report.subject["example"])
    tolerated = report.passed or (report.verdict is Verdict.LATENT and not strict)
    if not tolerated:
        annotate(report)
    sys.exit(AGREE if tolerated else DIFFER)


def show(report: Report, *, as_json: bool, verbosity: int) -> None:
    """Print a report for a reader or for a machine; below 0 only what is needed to act."""
    from parity.message import render

    if as_json:
        click.echo(report.to_json())
        return
    text = render(report, verbosity=max(verbosity, 0), colour=True)
    if verbosity < 0:
        if report.passed:
            return
        text = "\n".join(text.splitlines()[:3])
    # click strips the colours where the output is no terminal or NO_COLOR is set
    click.echo(text, color=colour_wanted())


def annotate(report: Report) -> None:
    """On GitHub Actions, show a failure beside the user's line; on stderr, which is read too."""
    from parity import github

    if github.wanted():
        click.echo(github.of_report(report), err=True)


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


def write_markdown(report: Report, path: Path | None) -> None:
    """Append the Markdown of a report, where that was asked for."""
    if path is None:
        return
    from parity.errors import InvalidInput
    from parity.markdown import append_markdown, report_markdown

    try:
        append_markdown(path, report_markdown(report))
    except OSError as error:
        raise InvalidInput(f"--markdown {path}: {error.strerror or error}") from None


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
    from parity.cli_doctor import doctor
    from parity.cli_explain import explain
    from parity.cli_export import export
    from parity.cli_files import compare
    from parity.cli_files import show as show_file
    from parity.cli_gate import gate
    from parity.cli_init import init
    from parity.cli_record import record
    from parity.cli_weights import weights

    for command in (
        compare, show_file, export, gate, doctor, weights, record, explain, init, completion
    ):  # fmt: skip
        main.add_command(command)


_register()
