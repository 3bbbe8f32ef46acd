"""Why two environments part: hypotheses, tried on the recorded steps or by running one side anew.

A setting is put right, wrappers are relinked, actions are changed: what removes the difference is
the cause. A field that differs while the others agree is explained by its own series.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from parity import tried
from parity.compare import compare_arrays
from parity.debug import environment_settings as setup
from parity.debug.environment_series import Relation, relation
from parity.debug.stepping import Rollout, chain, is_action, split
from parity.diagnose.causes import CAUSES
from parity.errors import ParityError
from parity.tolerance import default_tolerance, relation_bound

if TYPE_CHECKING:
    from parity.debug.environments import Bench

SIDES = ("torch", "tf")
FEWEST = 4
"""Steps that a relation must hold on; any two numbers are a multiple of each other."""
LATER = 10
"""So many steps later the sides must part, at least, for a trial to count as a cause."""
MOST = 12
"""Settings that are tried one by one."""
Cause = dict[str, Any]


def causes(bench: Bench, unsteady: Mapping[str, Sequence[str]]) -> tuple[Mapping[str, Any], ...]:
    """The causes that fit, the most telling first."""
    from parity.debug.environments import that_matter

    found: list[Cause] = []
    for side, names in unsteady.items():
        if ours := that_matter(names):
            found.append(_unseeded(side, ours[0]))
    if found:
        return tuple(found)
    if bench.remade:
        found += _by_running(bench)
    if found and split(_first(bench)[0])[1].startswith("observation"):
        return tuple(found)  # what differs behind another state is its consequence
    return (*found, *_by_fields(bench))


def _cause(name: str, text: str, *, before: float | None = None, after: float | None = None,
           fix: str = "") -> Cause:  # fmt: skip
    info = CAUSES.get(name) or CAUSES["relation"]
    numbers = {k: v for k, v in (("before", before), ("after", after)) if v is not None}
    return {
        "cause": info.id,
        "text": text,
        **numbers,
        "fix": fix or info.fix,
        "docs": info.link,
    }


def _unseeded(side: str, name: str) -> Cause:
    return _cause(
        "environment-seed",
        f"the {side} environment does not repeat itself from its own seed: {name} is another one "
        "in a second run",
    )


# ------------------------------------------------------------------------------- runs of one side


def _by_running(bench: Bench) -> list[Cause]:
    for attempt in (_seeds, _settings, _wrappers, _actions):
        found = list(attempt(bench))
        if found:
            return found
    return []


def parting(bench: Bench, torch: Rollout, tf: Rollout) -> tuple[str, float] | None:
    """The first entry that differs, and by how much."""
    for name, array in torch.trace.items():
        if is_action(name) or name in bench.ignored:
            continue
        if name not in tf.trace:
            if "/info/" in name or name.startswith("reset/info"):
                continue
            return name, float("inf")
        d = compare_arrays(
            array, tf.trace[name], tolerance=default_tolerance(str(array.dtype)), check_dtype=True
        )
        if not d.agrees:
            return name, float("inf") if d.structural else float(d.max_abs)
    return None


def _first(bench: Bench) -> tuple[str, float]:
    return parting(bench, bench.rollouts["torch"], bench.rollouts["tf"]) or ("", 0.0)


def _removes(bench: Bench, made: Rollout, side: str) -> bool:
    """Whether the sides now part nowhere, in another field, or much later."""
    other = bench.rollouts["tf" if side == "torch" else "torch"]
    pair = (made, other) if side == "torch" else (other, made)
    old, new = _first(bench)[0], parting(bench, *pair)
    if new is None:
        return True
    (was, field), (now, kind) = split(old), split(new[0])
    return now >= was + LATER or (now >= was and kind != field and was >= 0 and now > was)


def _tried(
    bench: Bench, side: str, change: Callable[[Any], Any], cause: str, what: str = "",
    actions: Sequence[Any] | None = None, seed: int | None = None,
) -> bool:  # fmt: skip
    """Run a changed environment of one side; whether that removes the difference."""
    place, before = _first(bench)
    try:
        environment = change(bench.sides[side].spare())
        made = bench.run(environment, actions or bench.actions, side, seed)
    except (ParityError, ArithmeticError, AttributeError, TypeError, ValueError, IndexError):
        tried.note(cause, before, None, removes=False, place=place, what=what)
        return False
    removes = _removes(bench, made, side)
    after = None if place not in made.trace else _gap_at(bench, made, side, place)
    tried.note(cause, before, after, removes=removes, place=place, what=what)
    return removes


def _gap_at(bench: Bench, made: Rollout, side: str, place: str) -> float | None:
    """The difference that a changed run leaves where the sides parted first."""
    other = bench.rollouts["tf" if side == "torch" else "torch"].trace
    if place not in other:
        return None
    d = compare_arrays(
        made.trace[place], other[place],
        tolerance=default_tolerance(str(other[place].dtype)), check_dtype=True,
    )  # fmt: skip
    return None if d.structural else float(d.max_abs)


def _seeds(bench: Bench) -> Iterator[Cause]:
    name, before = _first(bench)
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
                yield _cause("environment-seed", text)
                return
    for offset in (1, -1, 2, 10, 42, 100, 1000):
        seed = bench.seed + offset
        if _tried(bench, "tf", lambda e: e, "environment-seed", f"seed {seed}", seed=seed):
            text = f"tf with the seed {seed} begins as torch does with {bench.seed}"
            yield _cause("environment-seed", text, before=before, after=0.0)
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
    name, before = _first(bench)
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
        if _tried(bench, "tf", with_torchs([setting]), "environment-setting", what):
            yield _of_settings([setting], name, before)
            return
    if len(found) > 1 and _tried(
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
    return _cause(name, said, before=before, after=0.0, fix=f"on the tf side: {fix}")


def _short(value: Any) -> str:
    array = np.asarray(value)
    return f"{array.item():.10g}" if array.size == 1 else np.array2string(array, threshold=6)


def _wrappers(bench: Bench) -> Iterator[Cause]:
    """The wrappers of one side in the other's order, or without one that the other lacks."""
    before = _first(bench)[1]
    names = {side: setup.wrapper_names(bench.sides[side].fresh()) for side in SIDES}
    if names["torch"] == names["tf"]:
        return
    if sorted(names["torch"]) == sorted(names["tf"]):
        order = ", ".join(names["torch"])
        if _tried(bench, "tf", lambda e: _relinked(e, names["torch"]), "wrapper-order", order):
            text = f"the wrappers are {', '.join(names['torch'])} in torch, from the outside in, "
            text += f"{', '.join(names['tf'])} in tf"
            yield _cause("wrapper-order", text, before=before, after=0.0)
        return
    for side in SIDES:
        other = names["tf" if side == "torch" else "torch"]
        for extra in [n for n in names[side] if names[side].count(n) > other.count(n)]:
            kept = list(names[side])
            kept.remove(extra)
            without = partial(_relinked, names=kept)
            if _tried(bench, side, without, "wrapper-missing", f"without {extra}"):
                text = f"{extra} wraps the {side} environment only"
                yield _cause("wrapper-missing", text, before=before, after=0.0)
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


def _actions(bench: Bench) -> Iterator[Cause]:
    """One side does something to the actions before they act."""
    name, before = _first(bench)
    if split(name)[0] < 0:
        return
    for cause, text, function in _transforms(bench):
        try:
            changed = function(bench.actions)
        except (TypeError, ValueError):
            continue
        if _same(changed, bench.actions):
            continue
        for side, doer in (("torch", "tf"), ("tf", "torch")):
            # what torch answers to the changed actions is what tf answers to the given ones
            if _tried(bench, side, lambda e: e, cause, text, changed):
                yield _cause(cause, f"{doer} {text}", before=before, after=0.0)
                return


def _same(a: Sequence[Any], b: Sequence[Any]) -> bool:
    return all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


Transform = tuple[str, str, Callable[[Sequence[Any]], list[Any]]]


def _transforms(bench: Bench) -> Iterator[Transform]:
    sample = bench.actions[0]
    if not isinstance(sample, (np.ndarray, np.generic)):
        return

    def each(function: Callable[[Any], Any]) -> Callable[[Sequence[Any]], list[Any]]:
        return lambda actions: [np.asarray(function(a)).astype(a.dtype)[()] for a in actions]

    yield "off-by-one", "acts one step late", lambda a: [a[0], *a[:-1]]
    if sample.dtype.kind != "f":
        count = 1 + int(max(np.max(a) for a in bench.actions))
        yield "action-order", "counts the actions backwards", each(lambda a: count - 1 - a)
        yield (
            "action-order",
            "exchanges the actions 0 and 1",
            each(lambda a: np.where(a == 0, 1, np.where(a == 1, 0, a))),
        )
        for by in range(1, min(count, 20)):
            yield (
                "action-order",
                f"adds {by} to the action's number",
                each(partial(_added, by=by, count=count)),
            )
        return
    yield "sign", "turns the sign of the action", each(lambda a: -a)
    for low, high in _bounds(bench):
        text = f"clips actions to [{low:.6g}, {high:.6g}]"
        yield "action-clip", text, each(partial(np.clip, a_min=low, a_max=high))
        text = f"maps [-1, 1] to [{low:.6g}, {high:.6g}]"
        yield (
            "action-scale",
            text,
            each(partial(_mapped, low=low, high=high)),
        )
        text = f"scales actions by {high:.6g}"
        yield "action-scale", text, each(partial(np.multiply, high))
        text = f"scales actions by 1/{high:.6g}"
        yield "action-scale", text, each(partial(np.multiply, 1 / high) if high else np.copy)
    for factor in (2.0, 0.5, 10.0, 0.1):
        yield "action-scale", f"scales actions by {factor:g}", each(partial(np.multiply, factor))
    yield "action-scale", "takes the tanh of the action", each(np.tanh)
    if sample.ndim == 1 and sample.size > 1:
        yield "action-order", "takes the components backwards", each(lambda a: a[::-1])


def _added(action: Any, by: int, count: int) -> Any:
    return (action + by) % count


def _mapped(action: Any, low: float, high: float) -> Any:
    return low + (np.clip(action, -1, 1) + 1) * (high - low) / 2


def _bounds(bench: Bench) -> list[tuple[float, float]]:
    found = [(-1.0, 1.0), (0.0, 1.0)]
    for side in bench.sides.values():
        for layer in chain(side.first):
            space = getattr(layer, "action_space", None)
            low, high = (np.unique(getattr(space, n, np.nan)) for n in ("low", "high"))
            if low.size == high.size == 1 and np.isfinite([low[0], high[0]]).all():
                found.append((float(low[0]), float(high[0])))
    return list(dict.fromkeys(found))


# --------------------------------------------------------------------------- series of the fields


def _by_fields(bench: Bench) -> list[Cause]:
    """A cause for each field that differs by itself, as far as the episodes run together."""
    torch, tf = (bench.rollouts[side].trace for side in SIDES)
    found: list[Cause] = []
    fields: dict[str, None] = {}
    for entry in bench.report.failing:
        if not entry.name.startswith("space/"):
            fields.setdefault(split(entry.name)[1].removeprefix("reset/"))
    ends = _ends(bench) if {"terminated", "truncated"} & set(fields) else None
    if ends is not None:
        found.append(ends)
    for field in fields:
        if field in ("terminated", "truncated"):
            continue
        horizon = _horizon(bench, field)
        names = [n for n in torch.names if split(n)[1] == field and split(n)[0] <= horizon]
        pairs = [(torch[n], tf[n]) for n in names if n in tf]
        if len(pairs) < min(FEWEST, len(bench.actions)) or any(
            a.shape != pairs[0][0].shape for a, _ in pairs
        ):
            continue
        left, right = (np.stack([p[i] for p in pairs]) for i in (0, 1))
        fitting = _explained(bench, field, names, left, right)
        if fitting is None:
            continue
        same = left.shape == right.shape
        gap = np.abs(left.astype(np.float64) - right.astype(np.float64)).max() if same else None
        after = fitting.after if same else None
        before = None if gap is None else float(gap)
        found.append(_cause(fitting.cause, fitting.text, before=before, after=after))
    return found


def _horizon(bench: Bench, field: str) -> int:
    """The last step up to which the sides do the same, this field left aside."""
    torch, tf = (bench.rollouts[side].trace for side in SIDES)
    last = -1
    ended: set[int] = set()
    for name, array in torch.items():
        step, kind = split(name)
        plain = kind.startswith("observation") and kind != field
        flags = kind in ("terminated", "truncated")
        if name not in tf:
            return last
        if plain and not field.startswith("observation") and array.shape == tf[name].shape:
            d = compare_arrays(
                array, tf[name], tolerance=default_tolerance(str(array.dtype)), check_dtype=False
            )
            if not d.agrees and not field.startswith("info"):
                return last
        if flags and bool(array) != bool(tf[name]):
            ended ^= {step}
        if kind == "truncated" and step in ended:
            return step
        last = max(last, step)
    return last


def _explained(
    bench: Bench, field: str, names: Sequence[str], left: np.ndarray, right: np.ndarray
) -> Relation | None:
    bound = relation_bound(left.dtype, right.dtype)
    if left.shape == right.shape and left.dtype != right.dtype and np.array_equal(left, right):
        text = f"the {field} is {left.dtype} in torch, {right.dtype} in tf"
        return Relation("dtype", text, 0.0)
    if left.shape == right.shape:
        steps = [split(n)[0] for n in names]
        apart = [t for t, a, b in zip(steps, left, right, strict=True) if not np.array_equal(a, b)]
        ends = set(bench.rollouts["torch"].ends) & set(bench.rollouts["tf"].ends)
        if apart and set(apart) <= ends and len(steps) > len(apart):
            return _only_at_ends(bench, field)
    return relation(field, left, right, bound)


def _only_at_ends(bench: Bench, field: str) -> Relation:
    if field.startswith("observation"):
        text = (
            "the observation differs at the ends of episodes only: one side returns the first "
            "observation of the next episode there"
        )
        return Relation("autoreset", text, 0.0)
    return Relation("terminal-step", f"the {field} differs in the last step of episodes only", 0.0)


def _ends(bench: Bench) -> Cause | None:
    """What the two flags of an episode's end say."""
    torch, tf = (bench.rollouts[side].trace for side in SIDES)
    for t in range(min(len(bench.actions), _horizon(bench, "terminated") + 1)):
        names = [f"step/{t}/{flag}" for flag in ("terminated", "truncated")]
        if any(n not in torch or n not in tf for n in names):
            return None
        left, right = ([bool(trace[n]) for n in names] for trace in (torch, tf))
        if left == right:
            continue
        if any(left) and any(right):
            return _flags(t, left, right)
        return _limit(bench, t, "torch" if any(left) else "tf")
    return None


def _flags(t: int, left: Sequence[bool], right: Sequence[bool]) -> Cause:
    says = ("terminated", "truncated")
    both = [
        " and ".join(n for n, on in zip(says, flags, strict=True) if on) for flags in (left, right)
    ]
    text = f"the episode that ends in step {t} is {both[0]} in torch, {both[1]} in tf"
    fix = "report a time limit as truncated and bootstrap there; terminated is an end of the task"
    return _cause("truncation-as-termination", text, before=1.0, after=0.0, fix=fix)


def _limit(bench: Bench, t: int, early: str) -> Cause | None:
    """One side's episodes are longer; a limit where the lengths of all are one number."""
    late = "tf" if early == "torch" else "torch"
    start = max([e for e in bench.rollouts[early].ends if e < t], default=-1)
    length = t - start
    following = next((e for e in bench.rollouts[late].ends if e > t), None)
    flag = "truncated" if bool(bench.rollouts[early].trace[f"step/{t}/truncated"]) else "terminated"
    theirs = "does not within this check" if following is None else (
        f"ends after {following - start} steps"
    )  # fmt: skip
    text = f"an episode of {early} is {flag} after {length} steps, {late}'s {theirs}"
    if following is not None and following - t == 1:
        return _cause("off-by-one", f"{text}: one step apart")
    return _cause("time-limit" if flag == "truncated" else "end-condition", text)
