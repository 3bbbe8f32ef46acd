"""``parity completion``: the line that makes a shell complete ``parity``."""

from __future__ import annotations

import click

_LINES = {
    "bash": 'eval "$(_PARITY_COMPLETE=bash_source parity)"',
    "zsh": 'eval "$(_PARITY_COMPLETE=zsh_source parity)"',
    "fish": "_PARITY_COMPLETE=fish_source parity | source",
}
_FILES = {"bash": "~/.bashrc", "zsh": "~/.zshrc", "fish": "~/.config/fish/completions/parity.fish"}


@click.command()
@click.argument("shell", type=click.Choice(sorted(_LINES)))
def completion(shell: str) -> None:
    """Print the line that turns on completion in a SHELL.

    \b
    parity completion bash >> ~/.bashrc
    """
    click.echo(f"# completion of parity; belongs in {_FILES[shell]}\n{_LINES[shell]}")
