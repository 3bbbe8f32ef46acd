"""``parity gate``: a run of the suite judged by an earlier one."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NoReturn

import click


@click.command(name="gate")
@click.argument("baseline", type=click.Path(path_type=Path))
@click.argument("report", type=click.Path(path_type=Path))
@click.option("--accepted", type=click.Path(path_type=Path), help="Ledger of accepted differences.")
@click.option("--update", is_flag=True, help="Make REPORT the new BASELINE and print the diff.")
@click.option("--junit", type=click.Path(path_type=Path), help="Write JUnit XML here.")
@click.option("--markdown", type=click.Path(path_type=Path), help="Append Markdown here.")
@click.option("--html", type=click.Path(path_type=Path), help="Write a page to this file.")
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
def gate(
    baseline: Path,
    report: Path,
    accepted: Path | None,
    update: bool,
    junit: Path | None,
    markdown: Path | None,
    html: Path | None,
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
    from parity.cli import AGREE, DIFFER, colour_wanted, fail
    from parity.errors import ParityError
    from parity.gate_files import Outputs, run_gate, update_baseline

    if update and (junit or markdown or html or as_json):
        fail("--update prints what changes in the baseline; it goes with no other output")
    try:
        if update:
            lines, code = update_baseline(baseline, report, accepted), AGREE
        else:
            outputs = Outputs(junit=junit, markdown=markdown, html=html, as_json=as_json)
            lines, passed = run_gate(baseline, report, accepted, outputs)
            code = AGREE if passed else DIFFER
    except ParityError as error:
        fail(str(error))
    for line in lines:
        click.echo(click.style(line.text, fg=line.style or None), color=colour_wanted())
    sys.exit(code)
