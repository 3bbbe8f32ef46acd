"""``parity init``: a first test and a workflow for a user's own repository."""

from __future__ import annotations

import re
from pathlib import Path

import click

TEST = '''\
"""The pair must agree: the same weights, the same inputs, both frameworks. See `parity --help`."""

import numpy as np
import pytest

pytestmark = pytest.mark.parity


def inputs():
    """What both sides are given. Batch and features differ, so that a transpose cannot hide."""
    rng = np.random.default_rng(0)
    return {{"state": rng.normal(size=(13, 3)).astype(np.float32)}}


def test_pair(parity):
    parity.check("{torch}", "{tf}", inputs())
'''

WORKFLOW = """\
name: parity
on: [push, pull_request]
jobs:
  parity:
    runs-on: ubuntu-latest
    timeout-minutes: 15
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with:
          python-version: "3.11"
      - run: python -m pip install 'parity[torch,tf,test]'
      - run: python -m pytest -m parity --parity-json=parity.json --parity-html=parity.html
      - if: always()
        uses: actions/upload-artifact@v4
        with:
          name: parity
          path: |
            parity.json
            parity.html
"""

_SIDE = re.compile(r"[^:\s]+:[A-Za-z_]\w*")


@click.command()
@click.option("--torch", help="The PyTorch side: file.py:name or package.module:name.")
@click.option("--tf", help="The TensorFlow side.")
@click.option("--dir", "folder", default=".", type=click.Path(path_type=Path), show_default=True)
@click.option("--workflow/--no-workflow", default=None, help="Write a GitHub workflow too.")
def init(torch: str | None, tf: str | None, folder: Path, workflow: bool | None) -> None:
    """Write a first parity test, and a workflow, into a repository.

    Asks for what no option says. Never overwrites a file.

    \b
    parity init
    parity init --torch port.py:torch_net --tf port.py:tf_net --no-workflow
    """
    from parity.cli import fail
    from parity.trace import write_atomic

    if not folder.is_dir():
        fail(f"init: {folder} is no directory")
    try:
        torch = torch or click.prompt("PyTorch side (file.py:name)")
        tf = tf or click.prompt("TensorFlow side (file.py:name)")
        for label, side in (("--torch", torch), ("--tf", tf)):
            if not _SIDE.fullmatch(str(side)):
                fail(f"init: {label} {side!r}: write file.py:name or package.module:name")
        if workflow is None:
            workflow = click.confirm("Write .github/workflows/parity.yml too?", default=True)
    except click.Abort:
        fail("init: needs answers, or --torch, --tf and --workflow or --no-workflow")
    files = {folder / "tests" / "test_parity.py": TEST.format(torch=torch, tf=tf)}
    if workflow:
        files[folder / ".github" / "workflows" / "parity.yml"] = WORKFLOW
    present = [str(path) for path in files if path.exists()]
    if present:
        fail(f"init: {', '.join(present)} exists already and is left as it is; nothing was written")
    for path, text in files.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(path, text.encode())
        except OSError as error:
            fail(f"init: cannot write {path}: {error.strerror or error}")
        click.echo(f"wrote {path}")
    click.echo("next: change inputs() to what your pair takes, then: python -m pytest -m parity")
