"""Two environments: the first step and field at which they part, and why."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from parity.debug.check import check
from parity.errors import InvalidInput
from parity.verdict import Verdict

pytest.importorskip("gymnasium")
from tests.unit.debug import environments as e


def compare(torch: Any, tf: Any, **options: Any) -> Any:
    return check(torch, tf, **{"steps": 80, **options})


@pytest.mark.parametrize(
    "make", [e.Track, e.counted, e.normalised, e.stacked, e.clip_then_scale, partial(e.cut, 9)]
)
def test_equal_environments_agree(make: Any) -> None:
    report = compare(make, lambda: make())
    assert report.verdict is Verdict.AGREE, str(report)
    assert report.values_compared > 400


@pytest.mark.parametrize(
    ("torch", "tf"),
    [
        (e.Track, e.OwnGenerator),  # other numbers behind the first reset, the same properties
        (e.Seedless, e.Seedless),
        (e.Track, e.OldForm),
        (e.Constant, e.Constant),
        (e.ReseedsItself, e.SeedByDefault),  # both begin alike at every reset
        (e.NewGenerator, e.NewGenerator),
    ],
)
def test_what_resets_do_with_their_seed_raises_no_false_alarm(torch: Any, tf: Any) -> None:
    report = compare(torch, lambda: tf())
    assert report.verdict is Verdict.AGREE, str(report)


def test_gyms_old_interface_is_the_same_environment() -> None:
    report = compare(e.Track, e.OldForm)
    assert report.verdict is Verdict.AGREE, str(report)
    assert any(entry.name.endswith("truncated") and entry for entry in report.entries)


def test_a_reward_that_float32_could_not_tell_apart_is_latent() -> None:
    report = compare(e.Track, e.PaysInFloat32)
    assert report.verdict is Verdict.LATENT, str(report)
    assert report.first_divergence.name == "step/0/reward"
    assert "float64 the sides are apart" in str(report)
    assert compare(e.Track, e.PaysTooMuch).verdict is Verdict.DIVERGE


FAULTS: list[tuple[Any, Any, str, str]] = [
    (e.Track, partial(e.Track, mass=1.1), "environment-setting", "step/0/observation"),
    (e.Track, partial(e.Track, edge=1.5), "environment-setting", "terminated"),
    (e.Track, partial(e.Track, limit=24), "environment-setting", "step/23/truncated"),
    (e.Track, e.Clipped, "action-clip", "observation"),
    (e.Track, e.Scaled, "action-scale", "step/0/observation"),
    (e.Track, e.Late, "off-by-one", "step/1/observation"),
    (e.Track, e.AllTerminated, "truncation-as-termination", "step/24/terminated"),
    (e.AllTerminated, e.Track, "truncation-as-termination", "step/24/terminated"),
    (e.Track, e.Unseeded, "environment-seed", "reset/observation"),
    (e.Track, e.SeedDropped, "environment-seed", "reset/observation"),
    (e.Track, e.SeedShifted, "environment-seed", "reset/observation"),
    (e.Track, e.ReseedsItself, "reseeded", "reset/unseeded/varies"),
    (e.ReseedsItself, e.Track, "reseeded", "reset/unseeded/varies"),
    (e.Track, e.SeedByDefault, "reseeded", "reset/unseeded/varies"),
    (e.Track, e.NewGenerator, "environment-seed", "reset/unseeded/repeats"),
    (e.Track, e.Wide, "dtype", "reset/observation"),
    (e.Track, e.Swapped, "observation-order", "reset/observation"),
    (e.Track, e.Halved, "observation-scale", "reset/observation"),
    (e.Track, e.Bonus, "reward-shift", "step/0/reward"),
    (partial(e.Track, edge=1.0), partial(e.NothingAtTheEnd, edge=1.0), "terminal-step", "reward"),
    (e.Track, e.Autoreset, "autoreset", "step/24/observation"),
    (e.clip_then_scale, e.scale_then_clip, "wrapper-order", "reward"),
    (e.counted_outside, e.counted_inside, "wrapper-order", "step/24/info/episode/r"),
    (e.stacked_before_normalising, e.normalised_before_stacking, "wrapper-order", "observation"),
    (e.Track, e.normalised, "wrapper-missing", "reset/observation"),
    (partial(e.cut, 20), partial(e.cut, 30), "time-limit", "step/19/truncated"),
    (partial(e.stacked, 4), partial(e.stacked, 3), "", "reset/observation"),
]


@pytest.mark.parametrize(("torch", "tf", "cause", "place"), FAULTS)
def test_a_fault_is_placed_and_named(torch: Any, tf: Any, cause: str, place: str) -> None:
    report = compare(torch, tf)
    assert report.verdict is Verdict.DIVERGE, str(report)
    assert report.first_divergence is not None
    assert report.first_divergence.name.endswith(place), str(report)
    found = [c["cause"] for c in report.causes]
    assert not cause or cause in found, str(report)


def test_two_faults_of_other_fields_are_both_named() -> None:
    class Both(e.AllTerminated):
        def pay(self, action: np.ndarray) -> float:
            return 0.5 * super().pay(action)

    found = [c["cause"] for c in compare(e.Track, Both).causes]
    assert {"reward-scale", "truncation-as-termination"} <= set(found)


def test_an_object_is_compared_once_as_it_is() -> None:
    report = compare(e.Track(), e.AllTerminated())
    assert report.verdict is Verdict.DIVERGE
    assert "truncation-as-termination" in [c["cause"] for c in report.causes]


def test_given_actions_are_used() -> None:
    actions = np.full((7, 2), 0.3, np.float32)
    report = check(e.Track, e.Bonus, actions)
    assert report.subject["steps"] == 7


@pytest.mark.parametrize(
    ("tf", "options", "says"),
    [
        (e.Raising, {}, "no such motor"),
        (e.Track, {"steps": 0}, "steps=0"),
        (e.Track, {"inputs": {"a": np.zeros(3), "b": np.zeros(3)}}, "one input, their actions"),
        (lambda: lambda x: x, {}, "give two of the same kind"),
    ],
)
def test_misuse_is_one_sentence(tf: Any, options: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        compare(e.Track, tf, **options)
    assert says in str(raised.value)
