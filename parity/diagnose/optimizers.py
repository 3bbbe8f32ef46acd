"""Why two optimizers part: both are simulated, and the settings in which they differ are switched
from one to the other's until the updates agree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import combinations
from typing import Any

import numpy as np

from parity.diagnose import rates
from parity.diagnose.simulate import Arrays, Rule, keras_rule, simulate, torch_rule
from parity.tolerance import explained_bound

CAUSES = {
    "kind": "other-optimizer",
    "learning_rate": "learning-rate",
    "epsilon": "epsilon-value",
    "epsilon_form": "epsilon-placement",
    "beta1": "adam-beta",
    "beta2": "adam-beta",
    "bias_correction": "bias-correction",
    "amsgrad": "amsgrad",
    "momentum": "momentum-value",
    "momentum_form": "momentum-rate",
    "dampening": "dampening",
    "nesterov": "nesterov",
    "rho": "rho",
    "centered": "centered",
    "weight_decay": "weight-decay-value",
    "decay_form": "weight-decay-coupling",
    "start": "accumulator-start",
    "rate_decay": "rate-schedule",
    "clip": "gradient-clipping",
    "maximize": "sign",
    "momentum_decay": "other-optimizer",
}

FLOAT32 = 2.0**-22
"""Share by which two rates may differ when one of them was made in float32."""


@dataclass(frozen=True)
class Training:
    """The steps of one optimizer: of which kind, under which rules, and what came of them."""

    kind: str
    rules: list[list[Rule]]
    start: Arrays
    gradients: list[list[np.ndarray | None]]
    after: list[Arrays]
    names: list[str]
    optimizer: Any = None

    @property
    def rates(self) -> list[float]:
        """The learning rate of each step, of the first parameter."""
        return [float(row[0].learning_rate) for row in self.rules]


@dataclass(frozen=True)
class Part:
    """One setting in which the two optimizers differ, and what switching it does."""

    setting: str
    cause: str
    torch: Any
    tf: Any
    before: float
    after: float


@dataclass(frozen=True)
class Comparison:
    """What explains the difference of two trainings.

    Attributes:
        parts: the smallest set of settings that removes it, the strongest first.
        others: settings that differ as well and make no difference here.
        alternatives: other sets of the same size that remove it too.
    """

    parts: list[Part]
    others: list[Part]
    alternatives: list[list[str]]
    error: float


def trainings(steps: Sequence[Any], side: str) -> list[Training]:
    """The recorded steps, sorted by optimizer."""
    by_optimizer: dict[int, list[Any]] = {}
    for step in steps:
        by_optimizer.setdefault(id(step.optimizer), []).append(step)
    found = []
    for own in by_optimizer.values():
        first = own[0]
        kind = kind_of(first.optimizer)
        make = torch_rule if side == "torch" else keras_rule
        rules = [[make(kind, s) for s in step.settings] for step in own]
        if any(rule is None for row in rules for rule in row):
            continue
        if any(len(step.before) != len(first.before) for step in own):
            continue
        names = getattr(first, "names", [str(i) for i in range(len(first.before))])
        found.append(
            Training(
                kind,
                [[rule for rule in row if rule is not None] for row in rules],
                first.before,
                [step.gradients for step in own],
                [step.after for step in own],
                names,
                first.optimizer,
            )
        )
    return found


def kind_of(optimizer: Any) -> str:
    """Its class; nothing for a class of the user's, which may update in its own way."""
    cls = type(optimizer)
    return cls.__name__ if cls.__module__.startswith(("torch.", "keras.", "tf_keras.")) else ""


def compare(torch: Training, tf: Training, dtype: str) -> Comparison | None:
    """Which settings make the difference; None where the simulation cannot say."""
    order = paired(torch.start, tf.start)
    if order is None or len(torch.rules) != len(tf.rules):
        return None
    theirs = [[row[j] for j in order] for row in tf.rules]
    wanted = torch.after
    if _error(simulate(torch.rules, torch.start, torch.gradients), wanted, dtype) > 1.0:
        return None  # torch's own steps are not reproduced: something else acts on them
    whole = _gap(theirs, torch, wanted)
    if _error(simulate(theirs, torch.start, torch.gradients), wanted, dtype) <= 1.0:
        return None
    differing = _differing(torch.rules, theirs)
    for size in range(1, len(differing) + 1):
        fitting = [
            names
            for names in combinations(differing, size)
            if _error(
                simulate(_switched(theirs, torch.rules, names), torch.start, torch.gradients),
                wanted, dtype,
            ) <= 1.0
        ]  # fmt: skip
        if fitting:
            return _comparison(torch, theirs, fitting, differing, wanted, whole)
    return None


def _comparison(
    torch: Training,
    theirs: list[list[Rule]],
    fitting: list[tuple[str, ...]],
    differing: list[str],
    wanted: list[Arrays],
    whole: float,
) -> Comparison:
    chosen = fitting[0]
    alone = {n: _gap(_switched(theirs, torch.rules, (n,)), torch, wanted) for n in chosen}
    parts, before = [], whole
    applied: tuple[str, ...] = ()
    for name in sorted(chosen, key=lambda n: alone[n]):
        applied = (*applied, name)
        after = _gap(_switched(theirs, torch.rules, applied), torch, wanted)
        parts.append(_part(name, torch.rules, theirs, before, after))
        before = after
    others = [_part(n, torch.rules, theirs, whole, whole) for n in differing if n not in chosen]
    return Comparison(parts, others, [list(names) for names in fitting[1:]], whole)


def _part(
    name: str, torch: list[list[Rule]], tf: list[list[Rule]], before: float, after: float
) -> Part:
    pairs = [
        (getattr(a, name), getattr(b, name))
        for row_a, row_b in zip(torch, tf, strict=True)
        for a, b in zip(row_a, row_b, strict=True)
    ]
    left, right = next(pair for pair in pairs if pair[0] != pair[1])
    cause = CAUSES[name]
    if name == "weight_decay":
        rates = [{getattr(rule, name) for rule in rows[0]} for rows in (torch, tf)]
        if len(rates[0]) != len(rates[1]) or any(len(r) > 1 for r in rates):
            cause = "decay-exclusion"
        elif left and right and (left == 2 * right or right == 2 * left):
            cause = "l2-factor-two"
    if name == "learning_rate" and len({r.learning_rate for row in torch for r in row}) > 1:
        cause = "rate-schedule"
    if name == "learning_rate" and all(abs(a - b) <= FLOAT32 * abs(a) for a, b in pairs):
        cause = "float32-inside"  # Keras keeps its rates in float32
    return Part(name, cause, left, right, before, after)


def _differing(torch: list[list[Rule]], tf: list[list[Rule]]) -> list[str]:
    """Settings that differ and can matter."""
    found = []
    for spec in fields(Rule):
        pairs = [
            (a, b) for ra, rb in zip(torch, tf, strict=True) for a, b in zip(ra, rb, strict=True)
        ]
        if all(getattr(a, spec.name) == getattr(b, spec.name) for a, b in pairs):
            continue
        if spec.name in _NEEDS and not any(
            getattr(rule, _NEEDS[spec.name]) for pair in pairs for rule in pair
        ):
            continue
        found.append(spec.name)
    return found


_NEEDS = {
    "momentum_form": "momentum",
    "dampening": "momentum",
    "nesterov": "momentum",
    "decay_form": "weight_decay",
    "epsilon_form": "epsilon",
}


def _switched(
    rules: list[list[Rule]], to: list[list[Rule]], names: Sequence[str]
) -> list[list[Rule]]:
    return [
        [replace(a, **{n: getattr(b, n) for n in names}) for a, b in zip(ra, rb, strict=True)]
        for ra, rb in zip(rules, to, strict=True)
    ]


def _gap(rules: list[list[Rule]], torch: Training, wanted: list[Arrays]) -> float:
    found = simulate(rules, torch.start, torch.gradients)
    return max(
        (float(np.max(np.abs(a - b))) for x, y in zip(found, wanted, strict=True)
         for a, b in zip(x, y, strict=True) if a.size), default=0.0,
    )  # fmt: skip


def _error(found: list[Arrays], wanted: list[Arrays], dtype: str) -> float:
    """The largest difference as a share of what counts as explained."""
    worst = 0.0
    for x, y in zip(found, wanted, strict=True):
        for a, b in zip(x, y, strict=True):
            if not a.size:
                continue
            bound = explained_bound(dtype, float(np.max(np.abs(b))))
            worst = max(worst, float(np.max(np.abs(a - b))) / bound)
    return worst


def paired(torch: Arrays, tf: Arrays) -> list[int] | None:
    """For each torch parameter the tf variable that it is: by value, else by place."""
    if len(torch) != len(tf):
        return None
    free, order = list(range(len(tf))), []
    for array in torch:
        same = [j for j in free if tf[j].shape == array.shape and np.allclose(tf[j], array)]
        flat = [j for j in free if tf[j].size == array.size]
        options = same or flat
        if not options:
            return None
        order.append(options[0])
        free.remove(options[0])
    return order


def keras_rule_of(step: Any, index: int) -> Rule | None:
    """The rule under which a Keras optimizer updates one of its variables."""
    return keras_rule(kind_of(step.optimizer), step.settings[index])


def explanations(
    torch_steps: Sequence[Any], keras_steps: Sequence[Any], dtype: str
) -> Iterator[tuple[Training, Training, Comparison]]:
    """The comparison of every pair of optimizers, in the order in which they first stepped."""
    pairs = zip(trainings(torch_steps, "torch"), trainings(keras_steps, "tf"), strict=False)
    for torch, tf in pairs:
        found = compare(torch, tf, dtype)
        if found is not None:
            yield torch, tf, found


def facts_of(part: Part, torch: Training, tf: Training) -> Mapping[str, Any]:
    """What is said of a setting: both values, and of a schedule the rates of the steps."""
    series: dict[str, Any] = {}
    if part.cause == "rate-schedule":
        series = rates.facts(tf.optimizer, torch.rates, tf.rates)
    return {
        **series,
        "setting": part.setting,
        "torch": part.torch,
        "tf": part.tf,
        "torch_kind": torch.kind,
        "tf_kind": tf.kind,
    }
