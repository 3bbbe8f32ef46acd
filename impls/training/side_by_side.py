"""``lockstep`` and ``freerun`` of ``python -m impls``: both frameworks in one process."""

from __future__ import annotations

import importlib
import json
import shlex
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from impls.errors import ConfigError
from impls.training.progress import bar
from impls.training.runs import Asked


def shared(function: Any) -> Any:
    """Options of both commands."""
    for option in reversed(
        (
            click.argument("algorithm"),
            click.option("--env", "env_id", required=True, help="Environment id."),
            click.option("--updates", type=int, default=200, show_default=True),
            click.option("--seed", type=int, default=0, show_default=True),
            click.option("--set", "given", multiple=True, metavar="KEY=VALUE"),
            click.option("--plant", metavar="MUTANT", help="Plant one of the algorithm's bugs."),
            click.option("--json", "json_path", type=click.Path(path_type=Path), metavar="PATH"),
            click.option("--html", "html_path", type=click.Path(path_type=Path), metavar="PATH"),
        )
    ):
        function = option(function)
    return function


@click.command()
@shared
@click.option("--framework", type=click.Choice(["torch", "tf"]), default="torch", help="Drives.")
@click.option("--dtype", type=click.Choice(["float32", "float64"]), default="float32")
def lockstep(
    algorithm: str,
    env_id: str,
    updates: int,
    seed: int,
    given: tuple[str, ...],
    plant: str | None,
    json_path: Path | None,
    html_path: Path | None,
    framework: str,
    dtype: str,
) -> None:
    """Train both in lockstep, and compare every link of every update.

    float32: each link with inputs forced equal, within 1e-6; over that, it is
    rounding where float64 leaves at most 1e-12, or 2**-23 of it. float64: whole
    updates, within 1e-10.

    \b
    python -m impls lockstep td3 --env Pendulum-v1 --updates 1000
    """
    from impls.__main__ import settings_of
    from impls.training.lockstep import lockstep as run

    _require(updates)
    asked = Asked(algorithm, framework, env_id, seed, dtype, settings=settings_of(given))
    with with_bug(algorithm, plant) as impls, bar() as tick:
        result = run(asked, updates, progress=lambda k: tick(k, updates, ""), impls=impls)
    document = result.document()
    _write(json_path, document)
    for name, worst in result.links.items():
        place = f"update {worst.update}, {worst.entry}" if worst.error else "equal"
        note = f"; {worst.roundings} arrays rounding" if worst.roundings else ""
        click.echo(f"{name:<20} {worst.error:>8.1e}  {place}{note}")
    name, worst = result.worst
    click.echo(
        f"\n{updates:,} updates over {result.steps:,} steps of {env_id}, {dtype}: worst error "
        f"{worst.error:.2g} in {name} (bound {result.bound:g})"
    )
    if result.roundings:
        click.echo(f"{result.roundings} arrays over the bound agree in float64: rounding")
    if result.first is not None:
        f = result.first
        click.echo(
            f"first difference: update {f['update']}, {f['link']}, {f['entry']}: {f['error']:.2g}"
        )
    if html_path is not None:
        from impls.training.pages import lockstep_page

        _page(html_path, lockstep_page(result, again()))
    sys.exit(0 if result.first is None else 1)


@click.command()
@shared
@click.option("--plot", "plot_path", type=click.Path(path_type=Path), metavar="PATH", help="SVG.")
@click.option("--table", is_flag=True, help="The correct pair, then each of the planted bugs.")
def freerun(
    algorithm: str,
    env_id: str,
    updates: int,
    seed: int,
    given: tuple[str, ...],
    plant: str | None,
    json_path: Path | None,
    html_path: Path | None,
    plot_path: Path | None,
    table: bool,
) -> None:
    """Let both train on their own, in float32 and float64: chaos, or a bug?

    Exit codes: 0 chaos (one function, rounding that grows), 1 a bug. With
    --table: 0 where all verdicts are right, 1 where a bug was not seen.

    \b
    python -m impls freerun ddpg --env Pendulum-v1 --updates 400
    python -m impls freerun ddpg --env Pendulum-v1 --plant gamma-squared
    """
    from impls.__main__ import settings_of
    from impls.training.freerun import freerun as run
    from impls.training.freerun import plot

    _require(updates)
    asked = Asked(algorithm, "torch", env_id, seed, settings=settings_of(given))
    if table:
        from impls.training.bug_table import bug_table

        if plant or html_path or plot_path:
            raise ConfigError("--table runs every bug: of the outputs, it takes --json only")
        rows = bug_table(asked, updates, tell=click.echo)
        _write(json_path, {"updates": updates, "rows": rows})
        sys.exit(0 if all(row["right"] for row in rows) else 1)
    try:
        with with_bug(algorithm, plant) as impls, bar() as tick:
            result = run(asked, updates, impls=impls, progress=lambda k: tick(k, 2 * updates, ""))
    except ConfigError:
        raise
    except Exception as error:
        if plant is None:
            raise
        click.echo(f"with {plant} an update raises {type(error).__name__}: {first_line(error)}")
        sys.exit(1)
    document = result.document()
    _write(json_path, document)
    for series in (result.float32, result.float64):
        far = series.horizon
        said = f"update {far}" if far else f"not within {len(series.differences)} updates"
        click.echo(
            f"{series.dtype}: first over 1e-6: {said}; at the end {series.differences[-1]:.1e}"
        )
    if result.growth is not None:
        click.echo(f"growth: {result.growth:.3g} digits per update")
    if result.predicted is not None:
        click.echo(f"float64's horizon by that growth: update {result.predicted:.0f}")
    click.echo(f"float64 is {result.excess:.2g} times 2^-29 of float32's difference, at most")
    meaning = {
        "chaos": "rounding, amplified by the loop; float64 has it later",
        "diverge": "a difference that precision does not shrink: a bug",
    }
    click.echo(f"verdict {result.verdict}: {meaning[result.verdict]}")
    if plot_path is not None:
        from parity.trace import write_atomic

        write_atomic(plot_path, _standalone(plot(result)).encode())
    if html_path is not None:
        from impls.training.pages import freerun_page

        _page(html_path, freerun_page(result, again()))
    sys.exit(0 if result.verdict == "chaos" else 1)


def _require(updates: int) -> None:
    if updates < 1:
        raise ConfigError(f"--updates {updates}: at least 1")


def bugs(algorithm: str) -> list[Any]:
    """The planted bugs of the pair; those of the reference take no part in training."""
    from impls.training.registry import algorithm as by_name

    mutants = importlib.import_module(f"impls.{by_name(algorithm).name}.faults").MUTANTS
    return [m for m in mutants if m.sibling in ("torch", "tf")]


@contextmanager
def with_bug(algorithm: str, plant: str | None) -> Iterator[Mapping[str, Any]]:
    """The siblings with a bug in one of them, or as they are."""
    if plant is None:
        yield {}
        return
    from parity.runner import planted

    mutants = bugs(algorithm)
    found = [m for m in mutants if m.id == plant]
    if not found:
        known = ", ".join(m.id for m in mutants)
        raise ConfigError(f"--plant {plant}: {algorithm} has no such bug; known: {known}")
    with planted(f"impls.{algorithm}", found[0]) as siblings:
        yield {name: siblings[name] for name in ("torch", "tf")}


def first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [""])[0]


def _write(path: Path | None, document: Mapping[str, Any]) -> None:
    if path is None:
        return
    from parity.results import plain
    from parity.trace import write_atomic

    try:
        text = json.dumps(plain(document), indent=1, default=str, allow_nan=False)
        write_atomic(path, f"{text}\n".encode())
    except OSError as error:
        raise ConfigError(f"--json {path}: {error.strerror or error}") from None


def again() -> str:
    """The command line, as it can be pasted."""
    return shlex.join(["python", "-m", "impls", *sys.argv[1:]])


def _page(path: Path, page: str) -> None:
    from parity.html.page import write_page

    try:
        write_page(path, page)
    except OSError as error:
        raise ConfigError(f"--html {path}: {error.strerror or error}") from None


def _standalone(svg: str) -> str:
    """A plot with its own colours, for a file."""
    style = (
        "<style>.grid{stroke:#ddd}.tick,.label{font:11px sans-serif;fill:#555}"
        "polyline{fill:none;stroke-width:1.5}.propagated32{stroke:#1f6fb2}"
        ".propagated64{stroke:#c4462d}.bound{stroke:#b3151f;stroke-dasharray:2 3}</style>"
    )
    head, _, rest = svg.partition(">")
    return f'{head} xmlns="http://www.w3.org/2000/svg">{style}{rest}\n'
