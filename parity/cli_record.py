"""``parity record``: one side of a pair, written down where only its framework is installed."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

import click


@click.command()
@click.argument("subject")
@click.option("--out", required=True, type=click.Path(path_type=Path), help="File to write.")
@click.option("--inputs", "function", metavar="FILE:NAME", help="Function that returns inputs.")
@click.option("--input", "drawn", multiple=True, metavar="SPEC", help="state=float32[13,3] ...")
@click.option("--train/--eval", "training", default=False, help="Mode of a module.")
@click.option("--steps", default=5, show_default=True, help="Steps of an optimizer.")
@click.option("--seed", default=0, show_default=True, help="Seed of drawn inputs.")
@click.option(
    "--like",
    type=click.Path(path_type=Path),
    help="A recording of the other side: take its inputs and weights.",
)
@click.option("--as-function", is_flag=True, help="A module, to check against a function.")
@click.option("--side", type=click.Choice(["torch", "tf"]), help="Where the subject does not tell.")
def record(
    subject: str,
    out: Path,
    function: str | None,
    drawn: tuple[str, ...],
    training: bool,
    steps: int,
    seed: int,
    like: Path | None,
    as_function: bool,
    side: str | None,
) -> NoReturn:
    """Record one side, to check the other one where this framework is not.

    SUBJECT is file.py:name or package.module:name, as for parity check.

    \b
    parity record port.py:torch_net --input x=float32[13,3] --out net.trace
    parity check net.trace port.py:keras_net          on another machine
    """
    from parity.cli import MISUSE
    from parity.debug.inputs import from_descriptions, from_function
    from parity.errors import ParityError
    from parity.quiet import import_frameworks
    from parity.recording.subjects import record as record_subject

    import_frameworks()
    try:
        if function and drawn:
            raise click.UsageError("give --inputs or --input, not both")
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
        )
    except ParityError as error:
        click.echo(f"parity: {error}", err=True)
        sys.exit(MISUSE)
    except OSError as error:
        click.echo(f"parity: {out}: {error.strerror or error}", err=True)
        sys.exit(MISUSE)
    for line in summary(trace, out):
        click.echo(line)
    sys.exit(0)


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

    plain = {k: str(v) if isinstance(v, Path) else v for k, v in options.items()}
    job = Job(*sides, pythons(*interpreters), timeout, plain)
    try:
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
