"""``python -m impls``: train the algorithms, and watch the two frameworks side by side.

Exit codes: 0 done (or the sides agree), 1 the sides differ, 2 misuse.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, NoReturn

import click

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 80}
DONE, DIFFER, MISUSE = 0, 1, 2


class _Commands(click.Group):
    """Misuse of any kind is one line and exit code 2."""

    def invoke(self, ctx: click.Context) -> Any:
        from impls.errors import ImplError
        from parity.errors import ParityError

        try:
            return super().invoke(ctx)
        except (ImplError, ParityError) as error:
            fail(str(error))


@click.group(cls=_Commands, context_settings=CONTEXT)
def main() -> None:
    """Train paired algorithms in PyTorch and TensorFlow from one seed.

    \b
    python -m impls train ppo --framework torch --env CartPole-v1 --seed 0
    python -m impls curves runs/*
    """


def fail(message: str) -> NoReturn:
    click.echo(f"impls: {message}", err=True)
    sys.exit(MISUSE)


def settings_of(given: tuple[str, ...]) -> dict[str, str]:
    """``key=value`` options as a mapping."""
    settings = {}
    for item in given:
        name, equals, value = item.partition("=")
        if not equals or not name.strip():
            fail(f"--set {item}: write key=value")
        settings[name.strip().replace("-", "_")] = value
    return settings


@main.command()
@click.argument("algorithm", required=False)
@click.option("--framework", type=click.Choice(["torch", "tf"]), help="Which side to train.")
@click.option("--env", "env_id", help="Environment id, such as CartPole-v1.")
@click.option("--seed", type=int, default=0, show_default=True, help="Everything random.")
@click.option("--steps", type=int, help="Environment steps; default: what is known to learn.")
@click.option("--compiled", is_flag=True, help="torch.compile, or tf.function.")
@click.option("--dtype", type=click.Choice(["float32", "float64"]), default="float32")
@click.option("--set", "given", multiple=True, metavar="KEY=VALUE", help="Any other setting.")
@click.option("--threads", type=int, default=1, show_default=True, help="Of the framework.")
@click.option("--out", type=click.Path(path_type=Path), help="Folder; default: runs/<name>.")
@click.option("--resume", type=click.Path(path_type=Path), help="Go on with the run in here.")
@click.option("--checkpoint-seconds", type=float, default=20.0, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def train(
    algorithm: str | None,
    framework: str | None,
    env_id: str | None,
    seed: int,
    steps: int | None,
    compiled: bool,
    dtype: str,
    given: tuple[str, ...],
    threads: int,
    out: Path | None,
    resume: Path | None,
    checkpoint_seconds: float,
    as_json: bool,
) -> None:
    """Train ALGORITHM; a run that was killed goes on with --resume, bit for bit.

    \b
    python -m impls train td3 --framework tf --env Pendulum-v1 --compiled
    python -m impls train --resume runs/td3-tf-Pendulum-v1-0
    """
    from impls.training.progress import bar
    from impls.training.runs import Asked, Folder
    from impls.training.train import make_loop
    from impls.training.train import train as run

    if threads < 1:
        fail(f"--threads {threads}: at least 1")
    if not checkpoint_seconds >= 0:
        fail(f"--checkpoint-seconds {checkpoint_seconds}: at least 0")
    if resume is not None:
        if algorithm or framework or env_id or out or given or steps:
            fail("--resume takes everything from the run's folder; give nothing else")
        folder = Folder(resume)
        folder.asked()
    else:
        if not (algorithm and framework and env_id):
            fail("train needs ALGORITHM, --framework and --env (or --resume DIR)")
        settings = settings_of(given)
        if steps is not None:
            settings["steps"] = str(steps)
        asked = Asked(algorithm, framework, env_id, seed, dtype, compiled, threads, settings)
        folder = Folder(out or Path("runs") / f"{algorithm}-{framework}-{env_id}-{seed}")
        make_loop(asked).close()  # what was asked must fit together before a folder is made
        folder.create(asked)

    def words(loop: Any, best: float) -> str:
        score = f"score {sum(loop.recent) / len(loop.recent):.1f}" if loop.recent else ""
        return f"{score}  best {best:.1f}" if best > float("-inf") else score

    with bar() as tick:
        result = run(
            folder,
            progress=lambda loop, best: tick(loop.step, loop.loop.steps, words(loop, best)),
            checkpoint_seconds=checkpoint_seconds,
        )
    if as_json:
        click.echo(json.dumps(result))
    else:
        click.echo(
            f"{folder.path}: {result['steps']:,} steps, {result['updates']:,} updates, "
            f"best evaluation {result['best']:.1f}, {result['seconds']:.0f} s"
        )


@main.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--episodes", type=int, default=100, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def evaluate(run: Path, episodes: int, as_json: bool) -> None:
    """Score the policy that a RUN selected on episodes that it has never seen."""
    from impls.training.train import evaluate_best

    if episodes < 1:
        fail("--episodes: at least 1")
    found = evaluate_best(run, episodes)
    if as_json:
        click.echo(json.dumps(found))
    else:
        click.echo(
            f"{run}: {found['mean']:.1f} +- {found['std']:.1f} over {episodes} episodes "
            f"(from {found['minimum']:.1f} to {found['maximum']:.1f}); selected at step "
            f"{found['step']:,} with {found['selected']:.1f}"
        )


@main.command()
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), default=Path("curves.svg"))
@click.option("--tensorboard", type=click.Path(path_type=Path), help="Event files, here.")
def curves(runs: tuple[Path, ...], out: Path, tensorboard: Path | None) -> None:
    """Plot RUNS, torch and TensorFlow side by side over seeds, as SVG."""
    from impls.training.curves import curves as draw
    from impls.training.events import write_events
    from parity.trace import write_atomic

    write_atomic(out, draw(runs).encode())
    click.echo(f"wrote {out}")
    if tensorboard is not None:
        click.echo(f"wrote {write_events(runs, tensorboard):,} values to {tensorboard}")


def _register() -> None:
    """Commands that have a file of their own."""
    from impls.training.side_by_side import freerun, lockstep

    main.add_command(lockstep)
    main.add_command(freerun)


_register()


if __name__ == "__main__":
    main(prog_name="python -m impls")
