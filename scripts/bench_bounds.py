"""What the figures are held to, and which of it a run reaches."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scripts.bench_cases import CASES
from scripts.bench_measure import Seconds, best, ratio

NOTES = Path(__file__).parents[1] / "benchmarks" / "notes.md"
SIDES = {"torch": ("torch-eager", "torch-compile"), "tf": ("tf-eager", "tf-function", "tf-xla")}
NAMES = {"torch": "PyTorch", "tf": "TensorFlow"}


@dataclass(frozen=True)
class Bound:
    """One ratio and its limit.

    Attributes:
        id: by which the notes name it.
        text: what is compared.
        value: median and quartiles over the rounds; None where a contender is missing.
        limit: what the median may be at most, or is at least.
    """

    id: str
    text: str
    value: tuple[float, float, float] | None
    limit: float
    at_least: bool = False

    @property
    def met(self) -> bool | None:
        if self.value is None:
            return None
        return self.value[0] >= self.limit if self.at_least else self.value[0] <= self.limit

    def shown(self) -> str:
        """``1.31 (1.29 to 1.34), at most 1.2``."""
        kind = "at least" if self.at_least else "at most"
        if self.value is None:
            return f"not measured, {kind} {self.limit:g}"
        middle, low, high = self.value
        return f"{middle:.2f} ({low:.2f} to {high:.2f}), {kind} {self.limit:g}"


def bounds(cases: Mapping[str, Any]) -> Iterator[Bound]:
    """All of them, of the cases that were measured."""
    if "td3" in cases:
        yield from _td3(cases["td3"])
    for name, found in cases.items():
        peer = CASES[name].peer
        if not peer:
            continue
        for side, names in SIDES.items():
            for what, words in (("train", "update"), ("loop", "environment step of training")):
                yield Bound(
                    f"{name}-{side}-{what}",
                    f"{name}, {words}: {NAMES[side]}'s best / Stable-Baselines3",
                    _best_to(found.get(what, {}), names, "sb3"),
                    1.0,
                )


def _td3(found: Mapping[str, Any]) -> Iterator[Bound]:
    for side, names in SIDES.items():
        update, train = found.get("update", {}), found.get("train", {})
        label = NAMES[side]
        yield Bound(
            f"td3-{side}-floor",
            f"td3, update of a held batch: {label}'s best / floor",
            _best_to(update, names, "floor"),
            1.2,
        )
        yield Bound(
            f"td3-{side}-jax",
            f"td3, update of a held batch: {label}'s best / JAX",
            _best_to(update, names, "jax"),
            1.15,
        )
        yield Bound(
            f"td3-{side}-sb3",
            f"td3, update with its sampling: Stable-Baselines3 / {label}'s best",
            _best_to(train, names, "sb3", turned=True),
            1.35,
            at_least=True,
        )


def _best_to(
    seconds: Seconds, names: tuple[str, ...], other: str, *, turned: bool = False
) -> tuple[float, float, float] | None:
    mine = best(seconds, names)
    if mine is None or not seconds.get(other):
        return None
    return ratio(seconds, other, mine) if turned else ratio(seconds, mine, other)


def notes() -> str:
    """What was written by hand: profiles and attempts, for bounds that are not reached."""
    return NOTES.read_text(encoding="utf-8") if NOTES.exists() else ""


def noted() -> set[str]:
    """Ids of the bounds that the notes say are missed, from headings ``### Missed: id, id``."""
    found: set[str] = set()
    for heading in re.findall(r"^#+ Missed: (.+)$", notes(), re.MULTILINE):
        found |= {name.strip(" `") for name in heading.split(",")}
    return found
