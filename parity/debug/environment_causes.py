"""Why two environments part: hypotheses, tried on the recorded steps or by running one side anew.

A setting is put right, wrappers are relinked, actions are changed: what removes the difference is
the cause. A field that differs while the others agree is explained by its own series.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from parity.debug import environment_seeding
from parity.debug import environment_settings as setup
from parity.debug.environment_actions import changed_actions
from parity.debug.environment_fields import by_fields
from parity.debug.environment_trials import SIDES, Cause, cause_of, first_parting, helps
from parity.debug.stepping import chain, split

if TYPE_CHECKING:
    from parity.debug.environments import Bench

MOST = 12
"""Settings that are tried one by one."""


def causes(bench: Bench, unsteady: Mapping[str, Sequence[str]]) -> tuple[Mapping[str, Any], ...]:
    """The causes that fit, the most telling first."""
    from parity.debug.environments import that_matter

    found: list[Cause] = []
    for side, names in unsteady.items():
        if ours := that_matter(names):
            found.append(_unseeded(side, ours[0]))
    if found:
        return tuple(found)
    if environment_seeding.nothing_else(bench):
        return tuple(environment_seeding.causes(bench))  # nothing to be removed by another run
    if bench.remade:
        found += _by_running(bench)
    if found and split(first_parting(bench)[0])[1].startswith("observation"):
        return tuple(found)  # what differs behind another state is its consequence
    return (*found, *by_fields(bench), *environment_seeding.causes(bench))


def _unseeded(side: str, name: str) -> Cause:
    return cause_of(
        "environment-seed",
        f"the {side} environment does not repeat itself from its own seed: {name} is another one "
        "in a second run",
    )


def _by_running(bench: Bench) -> list[Cause]:
    for attempt in (_seeds, _settings, _wrappers, changed_actions):
        found = list(attempt(bench))
        if found:
            return found
    return []


def _seeds(bench: Bench) -> Iterator[Cause]:
    name, before = first_parting(bench)
    if not name.startswith("reset/observation"):
        return
    for side in SIDES:
        with_others = [
            bench.run(bench.sides[side].fresh(), bench.actions[:1], side, bench.seed + k)
            for k in (0, 1, 2)
        ]
        starts = [
            [a for n, a in r.trace.items() if n.startswith("reset/observation")]
            for r in with_others
        ]
        same = all(
            np.array_equal(x, y)
            for start in starts[1:]
            for x, y in zip(starts[0], start, strict=True)
        )
        if same:
            other = "tf" if side == "torch" else "torch"
            text = f"{side} begins alike whatever the seed, {other} does not: its seed is ignored"
            if not _always_alike(bench, other):
                yield cause_of("environment-seed", text)
                return
    for offset in (1, -1, 2, 10, 42, 100, 1000):
        seed = bench.seed + offset
        if helps(bench, "tf", lambda e: e, "environment-seed", f"seed {seed}", seed=seed):
            text = f"tf with the seed {seed} begins as torch does with {bench.seed}"
            yield cause_of("environment-seed", text, before=before, after=0.0)
            return


def _always_alike(bench: Bench, side: str) -> bool:
    runs = [
        bench.run(bench.sides[side].fresh(), bench.actions[:1], side, bench.seed + k)
        for k in (0, 1)
    ]
    left, right = (r.trace for r in runs)
    return all(
        np.array_equal(left[n], right[n]) for n in left.names if n.startswith("reset/observation")
    )


def _settings(bench: Bench) -> Iterator[Cause]:
    name, before = first_parting(bench)
    first = {side: bench.sides[side].fresh() for side in SIDES}
    found = setup.settings(first["torch"], first["tf"])

    def with_torchs(chosen: Sequence[setup.Setting]) -> Callable[[Any], Any]:
        def change(environment: Any) -> Any:
            pairs = setup.paired(bench.sides["torch"].fresh(), environment)
            for owner, attribute, value, _ in chosen:
                for a, b in pairs:
                    if type(a).__name__ == owner and hasattr(b, attribute):
                        setup.put(b, attribute, value)
            return environment

        return change

    for setting in found[:MOST]:
        what = f"{setting[1]} = {_short(setting[2])}"
        if helps(bench, "tf", with_torchs([setting]), "environment-setting", what):
            yield _of_settings([setting], name, before)
            return
    if len(found) > 1 and helps(
        bench, "tf", with_torchs(found), "environment-setting", "all settings together"
    ):
        yield _of_settings(found, name, before)


def _of_settings(found: Sequence[setup.Setting], place: str, before: float) -> Cause:
    said = "; ".join(f"{o}.{n} is {_short(a)} in torch, {_short(b)} in tf" for o, n, a, b in found)
    fix = "; ".join(f"{n} = {_short(a)}" for _, n, a, _ in found)
    limit = any("max_episode_steps" in n for _, n, _, _ in found)
    field = split(place)[1]
    ends = field in ("terminated", "truncated") or limit
    name = "time-limit" if limit and ends else "environment-setting"
    return cause_of(name, said, before=before, after=0.0, fix=f"on the tf side: {fix}")


def _short(value: Any) -> str:
    array = np.asarray(value)
    return f"{array.item():.10g}" if array.size == 1 else np.array2string(array, threshold=6)


def _wrappers(bench: Bench) -> Iterator[Cause]:
    """The wrappers of one side in the other's order, or without one that the other lacks."""
    before = first_parting(bench)[1]
    names = {side: setup.wrapper_names(bench.sides[side].fresh()) for side in SIDES}
    if names["torch"] == names["tf"]:
        return
    if sorted(names["torch"]) == sorted(names["tf"]):
        order = ", ".join(names["torch"])
        if helps(bench, "tf", lambda e: _relinked(e, names["torch"]), "wrapper-order", order):
            text = f"the wrappers are {', '.join(names['torch'])} in torch, from the outside in, "
            text += f"{', '.join(names['tf'])} in tf"
            yield cause_of("wrapper-order", text, before=before, after=0.0)
        return
    for side in SIDES:
        other = names["tf" if side == "torch" else "torch"]
        for extra in [n for n in names[side] if names[side].count(n) > other.count(n)]:
            kept = list(names[side])
            kept.remove(extra)
            without = partial(_relinked, names=kept)
            if helps(bench, side, without, "wrapper-missing", f"without {extra}"):
                text = f"{extra} wraps the {side} environment only"
                yield cause_of("wrapper-missing", text, before=before, after=0.0)
                return


def _relinked(environment: Any, names: Sequence[str]) -> Any:
    """The environment with wrappers of these classes, from the outside in."""
    *wrappers, bare = chain(environment)
    inner = bare
    for name in reversed(names):
        wrapper = next(w for w in reversed(wrappers) if type(w).__name__ == name)
        wrappers.remove(wrapper)
        setup.put(wrapper, "env", inner)
        inner = wrapper
    return inner
