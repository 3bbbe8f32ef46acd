"""Training: a loop, evaluations, a log, checkpoints."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from impls.errors import ConfigError
from impls.training.asynchronous import AsyncLoop
from impls.training.loops import Loop
from impls.training.off_policy import OffPolicyLoop
from impls.training.on_policy import OnPolicyLoop
from impls.training.registry import Algorithm, LoopConfig, algorithm, configure
from impls.training.replays import ReplayLoop
from impls.training.runs import Asked, Folder
from impls.training.sides import Side, make_side
from impls.training.worlds import World
from parity.random import Stream

SECONDS = 20.0
"""Time between checkpoints, besides those after each evaluation."""
TOGETHER = 20
"""Environments in which a policy is evaluated side by side."""


def make_loop(asked: Asked, **changes: Any) -> Loop:
    """The loop of a run, at its beginning.

    Args:
        changes: further arguments of :func:`~impls.training.sides.make_side`.

    Raises:
        ConfigError: what was asked does not fit together.
        UnknownEnvironmentError: there is no such environment.
    """
    chosen = algorithm(asked.algorithm)
    probe = World(asked.env, Stream(0), 0)
    config, loop = configure(chosen, probe.env, asked.settings)
    probe.close()
    if asked.dtype not in ("float32", "float64"):
        raise ConfigError(f"dtype={asked.dtype!r}: float32 or float64")
    arguments = {
        "dtype": asked.dtype,
        "compiled": asked.compiled,
        "threads": asked.threads,
        "exploration": loop.exploration,
    }
    side = make_side(asked.framework, chosen, config, **{**arguments, **changes})
    return _kind(chosen, config, loop)(side, chosen, config, loop, asked.env, asked.seed)


def _kind(chosen: Algorithm, config: Any, loop: LoopConfig) -> type[Loop]:
    if chosen.workers:
        return AsyncLoop
    if chosen.on_policy:
        return OnPolicyLoop
    if loop.prioritized or getattr(config, "n_step", 1) > 1:
        return ReplayLoop
    return OffPolicyLoop


def train(
    folder: Folder,
    *,
    progress: Callable[[Loop, float], None] = lambda loop, best: None,
    checkpoint_seconds: float = SECONDS,
) -> dict[str, Any]:
    """Run to the end what the folder was asked for, from its last checkpoint if it has one.

    Args:
        progress: called after each piece of work with the loop and the best evaluation so far.

    Returns:
        What is written to ``result.json``.
    """
    asked = folder.asked()
    done = folder.result()
    if done is not None:
        return done
    with folder.alone():
        loop = make_loop(asked)
        try:
            return _train(folder, asked, loop, progress, checkpoint_seconds)
        finally:
            loop.close()


def _train(
    folder: Folder, asked: Asked, loop: Loop, progress: Callable[[Loop, float], None], every: float
) -> dict[str, Any]:
    kept = folder.load()
    best, before = -np.inf, 0.0
    if kept is not None:
        state, best, before = kept
        loop.load_state(state)
    started = saved = time.monotonic()
    key = Stream(asked.seed).split("evaluation")
    while loop.step < loop.loop.steps:
        period = loop.step // loop.loop.evaluate_every
        loop.advance()
        ended = loop.step >= loop.loop.steps
        if loop.step // loop.loop.evaluate_every > period or ended:
            scores = evaluate(loop.side, asked.env, key, loop.loop.evaluation_episodes)
            mean = float(np.mean(scores))
            if mean > best:
                best = mean
                folder.save_best(loop.side.learner.state(), best, loop.step)
            spent = before + time.monotonic() - started
            folder.append(_row(loop, scores, best, spent))
            saved = -np.inf
        if time.monotonic() - saved > every:
            saved = time.monotonic()
            folder.save(loop.state(), best, before + saved - started)
        progress(loop, best)
    result = {
        "steps": loop.step,
        "updates": loop.updates,
        "episodes": loop.episodes,
        "best": best,
        "seconds": round(before + time.monotonic() - started, 1),
    }
    folder.finish(result)
    return result


def _row(loop: Loop, scores: np.ndarray, best: float, seconds: float) -> dict[str, Any]:
    return {
        "step": loop.step,
        "updates": loop.updates,
        "episodes": loop.episodes,
        "score": round(float(np.mean(loop.recent)), 3) if loop.recent else "nan",
        "evaluation": round(float(np.mean(scores)), 3),
        "spread": round(float(np.std(scores)), 3),
        "best": round(best, 3),
        "seconds": round(seconds, 1),
    }


def evaluate(side: Side, env_id: str, key: Stream, episodes: int) -> np.ndarray:
    """Scores of whole episodes under the policy without exploration.

    Episode i begins with the seed ``key.fold_in(i)``. Environments that have finished are stepped
    no more; their rows in the batch stay as they are, so that there is one graph.
    """
    together = min(episodes, TOGETHER)
    scores = np.zeros(episodes)
    worlds = [World(env_id, key, i) for i in range(together)]
    episode = list(range(together))
    begun = together
    while any(e is not None for e in episode):
        seen = np.stack([w.observation for w in worlds]).astype(np.float32)
        actions = side.greedy(seen)
        for i, world in enumerate(worlds):
            if episode[i] is None:
                continue
            _, reward, _, terminated, truncated = world.step(actions[i])
            scores[episode[i]] += reward
            if terminated or truncated:
                more = begun < episodes
                episode[i] = begun if more else None  # type: ignore[call-overload]
                if more:
                    world.begin(key.fold_in(begun))
                    begun += 1
    for world in worlds:
        world.close()
    return scores


def evaluate_best(path: Path, episodes: int) -> dict[str, Any]:
    """Score the policy that training selected on episodes that it has never seen.

    Returns:
        ``mean``, ``std``, ``minimum`` and ``maximum`` of the scores, ``episodes``, and ``step``
        and ``selected``: where it was kept, and its score in the training's own evaluation.
    """
    folder = Folder(path)
    asked = folder.asked()
    state, score, step = folder.best()
    loop = make_loop(asked)
    loop.side.learner.load_state(state)
    key = Stream(asked.seed).split("fresh-evaluation")
    scores = evaluate(loop.side, asked.env, key, episodes)
    loop.close()
    return {
        "mean": float(scores.mean()),
        "std": float(scores.std()),
        "minimum": float(scores.min()),
        "maximum": float(scores.max()),
        "episodes": episodes,
        "step": step,
        "selected": score,
    }
