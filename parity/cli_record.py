"""``parity record``: one side of a pair, written down where only its framework is installed."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

import click

DETAILS = ("full", "stats", "first")
"""As in ``parity.trace.writer``, which imports NumPy."""


@click.command()
@click.argument("subject")
@click.option("--out", required=True, type=click.Path(path_type=Path), help="File to write.")
@click.option("--inputs", "function", metavar="FILE:NAME", help="Function that returns inputs.")
@click.option("--input", "drawn", multiple=True, metavar="SPEC", help="state=float32[13,3] ...")
@click.option("--train/--eval", "training", default=False, help="Mode of a module.")
@click.option("--steps", type=int, help="Steps: of an optimizer (5), an environment, an agent.")
@click.option("--seed", default=0, show_default=True, help="Seed of drawn inputs.")
@click.option(
    "--like",
    type=click.Path(path_type=Path),
    help="A recording of the other side: take its inputs and weights.",
)
@click.option("--as-function", is_flag=True, help="A module, to check against a function.")
@click.option("--side", type=click.Choice(["torch", "tf"]), help="Where the subject does not tell.")
@click.option("--env", "environment", metavar="ENV", help="Of an agent: an id, or FILE:NAME.")
@click.option(
    "--detail",
    type=click.Choice(DETAILS),
    default="full",
    show_default=True,
    help="What is kept of the values.",
)
@click.option(
    "--against",
    type=click.Path(path_type=Path),
    help="With --detail first: a trace to differ from.",
)
@click.option("--around", metavar="ENTRY", help="With --detail first: the entry that differs.")
def record(
    subject: str,
    out: Path,
    function: str | None,
    drawn: tuple[str, ...],
    training: bool,
    steps: int | None,
    seed: int,
    like: Path | None,
    as_function: bool,
    side: str | None,
    environment: str | None,
    detail: str,
    against: Path | None,
    around: str | None,
) -> NoReturn:
    """Record one side, to check the other one where this framework is not.

    SUBJECT is file.py:name or package.module:name, as for parity check; or a
    trace, which is copied in less detail: statistics and checksums only
    (stats), or full values around the first difference (first).

    \b
    parity record port.py:torch_net --input x=float32[13,3] --out net.trace
    parity check net.trace port.py:keras_net          on another machine
    parity record net.trace --detail first --against gpu.trace --out s.trace
    """
    from parity.cli import MISUSE
    from parity.debug.inputs import from_descriptions, from_function
    from parity.errors import ParityError
    from parity.quiet import import_frameworks
    from parity.recording.reading import is_recording
    from parity.recording.subjects import record as record_subject
    from parity.waiting import waiting

    kept: dict[str, Any] = {"detail": detail, "against": against, "around": around}
    try:
        if is_recording(subject):
            given = (function, drawn, training, steps, seed, like, as_function, side, environment)
            copy_trace(Path(subject), out, any(given), **kept)
        if function and drawn:
            raise click.UsageError("give --inputs or --input, not both")
        with waiting():
            import_frameworks()
            inputs: Any = from_descriptions(drawn, seed=seed) if drawn else None
            if function:
                inputs = from_function(function, seed=seed)
            trace = record_subject(
                subject,
                inputs,
                out=out,
                training=training,
                steps=steps,
                seed=seed,
                like=like,
                side=side,
                as_function=as_function,
                environment=environment,
                **kept,
            )
    except ParityError as error:
        click.echo(f"parity: {error}", err=True)
        sys.exit(MISUSE)
    except OSError as error:
        click.echo(f"parity: {out}: {error.strerror or error}", err=True)
        sys.exit(MISUSE)
    for line in [*summary(trace, out), *kept_lines(out, kept)]:
        click.echo(line)
    sys.exit(0)


def copy_trace(path: Path, out: Path, others: bool, **kept: Any) -> NoReturn:
    """``parity record FILE --detail ...``: the same trace, with less in it."""
    from parity.cli import AGREE
    from parity.recording.subjects import Detail
    from parity.trace import open_trace, write_trace

    if others:
        raise click.UsageError("a trace is copied: of the options only --detail and its two apply")
    if kept["detail"] == "full":
        raise click.UsageError(f"{path} is a trace already: say what to keep, --detail stats|first")
    trace = open_trace(path)
    write_trace(out, trace, **Detail(kept["detail"], kept["around"], kept["against"]).options())
    click.echo(f"copied {len(trace)} entries of {path} to {out}")
    for line in kept_lines(out, kept):
        click.echo(line)
    sys.exit(AGREE)


def kept_lines(out: Path, kept: Mapping[str, Any]) -> list[str]:
    """What a file in less than full detail holds."""
    from parity.trace import Statistics, open_trace

    if kept["detail"] == "full" or not out.is_file():
        return []
    with open_trace(out) as reader:
        full = [name for name in reader if not isinstance(reader.entry(name), Statistics)]
        first = reader.meta.get("first_difference")
    if kept["detail"] == "first" and first is None:
        return [f"no entry differs from {kept['against']}: statistics and checksums only"]
    if not full:
        return ["statistics and checksums only"]
    return [f"first difference: {first}; values of {full[0]} to {full[-1]}, statistics elsewhere"]


def run_isolated(
    sides: tuple[str, str],
    interpreters: tuple[str | None, str | None],
    timeout: float | None,
    options: Mapping[str, Any],
) -> NoReturn:
    """``parity check --isolate``: print what came of it, and leave with its exit code."""
    from parity.cli import MISUSE, colour_wanted
    from parity.errors import ParityError
    from parity.isolate import Job, check_isolated, pythons
    from parity.waiting import waiting

    plain = {k: str(v) if isinstance(v, Path) else v for k, v in options.items()}
    job = Job(*sides, pythons(*interpreters), timeout, plain)
    try:
        with waiting(first="starting a process for each side"):
            ended = check_isolated(job)
    except ParityError as error:
        click.echo(f"parity: {error}", err=True)
        sys.exit(MISUSE)
    except KeyboardInterrupt:
        click.echo("parity: stopped", err=True)
        sys.exit(130)
    click.echo(ended.stdout, nl=False, color=colour_wanted())
    sys.exit(ended.code)


def summary(trace: Any, out: Path) -> list[str]:
    """What was recorded, in a few lines."""
    meta = trace.meta
    runs = [name for name in meta.get("runs", {}) if name != "refused"]
    lines = [
        f"recorded {meta['kind']} {meta['subject']['label']} ({trace.side}) in {', '.join(runs)}",
        f"{len(trace)} entries, written to {out}",
    ]
    if meta.get("no_float64"):
        lines.append(f"no float64 run: {meta['no_float64']}")
    return lines
