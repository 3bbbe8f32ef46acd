"""``parity weights``: move the weights of a pair, and nothing else."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NoReturn

import click


@click.command()
@click.argument("side_a")
@click.argument("side_b")
@click.option("--to", type=click.Choice(["tf", "torch"]), required=True, help="Side to write.")
@click.option(
    "--from", "source", type=click.Path(path_type=Path), help="Weights file to read first."
)
@click.option("--save", type=click.Path(path_type=Path), help="File to write them to.")
@click.option("--input", "drawn", multiple=True, metavar="SPEC", help="Builds a Keras model.")
@click.option("--map", "map_file", type=click.Path(path_type=Path), help="torch: tf layer names.")
def weights(
    side_a: str,
    side_b: str,
    to: str,
    source: Path | None,
    save: Path | None,
    drawn: tuple[str, ...],
    map_file: Path | None,
) -> NoReturn:
    """Move weights from one side to the other, bit for bit, by layer kind.

    \b
    parity weights port.py:torch_actor port.py:tf_actor --to tf --save actor.weights.h5
    parity weights port.py:torch_actor port.py:tf_actor --to tf --from actor.safetensors
    """
    from parity.cli import AGREE, DIFFER, fail
    from parity.debug.check import sides
    from parity.debug.inputs import from_descriptions, read_map
    from parity.debug.moving import build, load_file, move, save_file
    from parity.errors import ParityError
    from parity.message import problem_text

    try:
        subjects = sides(side_a, side_b)
        modules = {side: subject.value for side, subject in subjects.items()}
        if any(subject.kind != "module" for subject in subjects.values()):
            fail("weights are moved between modules")
        if drawn:
            build(modules["tf"], list(from_descriptions(drawn).values()))
        if source is not None and load_file(source, modules) == to:
            fail(f"{source} holds weights of {to}, the side that is to be written")
        moved = move(modules, to, names=read_map(map_file) if map_file else None)
        if save is not None and not moved.problems:
            save_file(save, to, modules[to])
    except ParityError as error:
        fail(str(error))
    for torch_name, tf_name, shape in moved.tensors:
        click.echo(f"{torch_name:<34} {tf_name:<34} {shape}")
    for problem in moved.problems:
        click.echo(problem_text(problem))
    if moved.problems:
        click.echo("nothing was moved")
        sys.exit(DIFFER)
    where = f"; saved to {save}" if save else ""
    click.echo(f"{len(moved.tensors)} tensors moved to {to}{where}")
    sys.exit(AGREE)
