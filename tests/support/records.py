"""The command line as tests of recordings call it."""

from __future__ import annotations

import json
from typing import Any

from click.testing import CliRunner, Result

from parity.cli import main


def command(*arguments: object) -> Result:
    return CliRunner().invoke(main, list(map(str, arguments)))


def found(result: Result) -> dict[str, Any]:
    """The report without what names its files, and without what cannot be tried on a file."""
    document = json.loads(result.stdout)
    for name in ("torch", "tf", "tried"):
        document["subject"].pop(name, None)
    document.pop("reproduce")
    return dict(document)
