"""``python -m parity``: the command, where its script is not on the path."""

from __future__ import annotations

from parity.cli import main

main(prog_name="parity")
