"""``parity doctor``: this environment, a recorded one, or the difference of two."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NoReturn

import click


@click.command()
@click.argument("traces", nargs=-1, type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def doctor(traces: tuple[Path, ...], as_json: bool) -> NoReturn:
    """Print versions and settings, and what of them threatens parity.

    Of this machine; of one TRACE, as it was recorded; of two, where they
    differ, worst first (exit code 1 if that can change a value).

    \b
    parity doctor
    parity doctor torch.trace tf.trace
    """
    from parity.cli import AGREE, DIFFER, fail
    from parity.errors import ParityError
    from parity.threats import REPEATS, environment_changes, threats

    if len(traces) > 2:
        fail("doctor takes at most two traces")
    try:
        environments = [recorded(path) for path in traces] or [here()]
    except ParityError as error:
        fail(str(error))
    if len(environments) == 2:
        changes = environment_changes(*environments)
        _show_changes(changes, traces, as_json)
        sys.exit(DIFFER if any(change.rank <= REPEATS for change in changes) else AGREE)
    (facts,) = environments
    found = threats(facts)
    if as_json:
        click.echo(
            json.dumps({"environment": facts, "threats": [t.to_json() for t in found]}, indent=1)
        )
        sys.exit(AGREE)
    for key, value in facts.items():
        if key != "broken":
            click.echo(f"{key:<28} {'-' if value is None else value}")
    click.echo()
    for threat in found:
        _say(f"! {threat.fact} = {threat.value}: {threat.why}", f"  fix: {threat.fix}")
    if not found:
        click.echo("nothing here threatens parity")
    sys.exit(AGREE)


def here() -> dict[str, Any]:
    """The fingerprint of this machine, with both frameworks imported where they are installed."""
    from importlib.util import find_spec

    from parity.fingerprint import fingerprint
    from parity.quiet import import_frameworks

    broken = {}
    try:
        import_frameworks()
        if find_spec("keras") is not None and find_spec("tensorflow") is not None:
            import keras  # noqa: F401
    except Exception as error:  # an installation can be broken in any way; the rest is still told
        broken = {"broken": f"{type(error).__name__}: {error}"}
    return {**fingerprint(), **broken}


def recorded(path: Path) -> dict[str, Any]:
    """The environment that a trace was recorded in.

    Raises:
        InvalidInput: not a trace, or one that does not say.
    """
    from parity.errors import InvalidInput
    from parity.trace import open_trace

    with open_trace(path) as reader:
        facts = reader.meta.get("environment")
    if not isinstance(facts, Mapping) or not facts:
        raise InvalidInput(f"{path}: the trace does not say on what it was recorded")
    return dict(facts)


def _show_changes(changes: Iterable[Any], traces: tuple[Path, ...], as_json: bool) -> None:
    changes = list(changes)
    if as_json:
        files = [str(path) for path in traces]
        document = {"traces": files, "changes": [change.to_json() for change in changes]}
        click.echo(json.dumps(document, indent=1))
        return
    for change in changes:
        one, other = ("-" if value is None else value for value in change.values)
        _say(f"{change.rank} {change.fact}: {one} / {other}", f"  {change.why}")
    if not changes:
        click.echo("the two environments are the same, as far as it was recorded")


def _say(*lines: str) -> None:
    import textwrap

    for line in lines:
        click.echo(
            textwrap.fill(
                line, 80, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
            )
        )
