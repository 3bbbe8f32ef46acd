"""Prioritized replay: shares of the mass, weights, and any sequence of updates."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from impls.errors import NonFiniteError
from impls.prioritized_replay.cases import CONFIG
from impls.prioritized_replay.config import PrioritizedReplayConfig
from impls.prioritized_replay.spec import COMPONENT
from impls.replay_buffer.cases import rows
from parity.backends import get_backend, to_numpy
from parity.runner import load_siblings, planted

PACKAGE = "impls.prioritized_replay"
SIDES = ("torch", "tf", "reference")
SETTINGS = settings(max_examples=12, deadline=None, database=None, derandomize=True)
FOUND = settings(SETTINGS, max_examples=150, phases=(Phase.generate,))
EXACT = PrioritizedReplayConfig(7, (3,), (2,), alpha=1.0, epsilon=0.5)
"""Priorities that are sums of powers of two: every sum and every boundary is exact."""


@pytest.fixture(scope="module", params=SIDES)
def side(request):
    return request.param


def new_buffer(side, config=CONFIG, filled=0, siblings=None):
    module = (siblings or load_siblings(PACKAGE))[side]
    buffer = module.PrioritizedReplay(config, dtype="float64")
    if filled:
        add(side, buffer, filled, config)
    return buffer


def add(side, buffer, count, config=CONFIG):
    new = rows(np.random.default_rng(count), count, config)
    buffer.add_batch({name: tensor(side, array) for name, array in new.items()})


def tensor(side, values):
    return get_backend(side).tensor(np.asarray(values))


def plain(values):
    return {name: np.array(to_numpy(value)) for name, value in values.items()}


def drawn(side, buffer, uniforms):
    return to_numpy(buffer.draw(tensor(side, np.asarray(uniforms, float)))).tolist()


def updated(side, buffer, slots, errors):
    buffer.update_priorities(tensor(side, np.asarray(slots)), tensor(side, np.asarray(errors)))


def test_each_slot_gets_its_share_of_evenly_spread_draws(side):
    buffer = new_buffer(side, EXACT, filled=5)
    shares = np.array([3, 1, 8, 2, 6])
    updated(side, buffer, np.arange(5), shares - 0.5)
    found = drawn(side, buffer, np.full(shares.sum(), 0.5))  # one draw in the middle of each unit
    assert np.bincount(found).tolist() == shares.tolist()
    assert found == sorted(found), "strata follow each other"


def test_alpha_zero_is_uniform_and_every_weight_is_one(side):
    config = PrioritizedReplayConfig(7, (3,), (2,), alpha=0.0)
    buffer = new_buffer(side, config, filled=5)
    updated(side, buffer, np.arange(5), np.array([0.1, 3.0, 100.0, 0.0, 2.0]))
    assert drawn(side, buffer, np.full(15, 0.5)) == [i // 3 for i in range(15)]
    np.testing.assert_array_equal(to_numpy(buffer.weights(tensor(side, np.arange(5)), 0.7)), 1.0)


def test_full_correction_makes_the_expected_weight_uniform(side):
    """With beta = 1, P(i) w_i is the same for every slot."""
    buffer = new_buffer(side, filled=9)
    updated(side, buffer, np.arange(9), np.linspace(-2.0, 5.0, 9))
    weights = to_numpy(buffer.weights(tensor(side, np.arange(9)), 1.0))
    product = plain(buffer.state())["priority"][:9] * weights
    np.testing.assert_allclose(product, product[0], rtol=1e-12)
    assert weights.max() == 1.0


def test_a_new_transition_has_the_highest_priority_ever(side):
    buffer = new_buffer(side, EXACT, filled=2)
    updated(side, buffer, [1], [9.5])
    updated(side, buffer, [1], [0.5])
    add(side, buffer, 1, EXACT)
    assert plain(buffer.state())["priority"].tolist() == [1.0, 1.0, 10.0, 0.0, 0.0, 0.0, 0.0]


def test_of_duplicates_in_one_update_the_last_counts(side):
    buffer = new_buffer(side, EXACT, filled=3)
    updated(side, buffer, [2, 0, 2, 2, 0], [7.5, 0.5, 31.5, 1.5, 3.5])
    state = plain(buffer.state())
    assert state["priority"].tolist() == [4.0, 1.0, 2.0, 0.0, 0.0, 0.0, 0.0]
    assert float(state["max_priority"]) == 32.0, "as if the rows had come one after the other"


def run_any_sequence(siblings, data):
    """Exact priorities: after any updates each side draws what the running sums say."""
    buffers = {side: new_buffer(side, EXACT, siblings=siblings) for side in SIDES}
    priority, size, cursor, highest = np.zeros(EXACT.capacity), 0, 0, 1.0
    for _ in range(data.draw(st.integers(1, 5))):
        count = data.draw(st.integers(1, 9), label="added")
        for side, buffer in buffers.items():
            add(side, buffer, count, EXACT)
        for _ in range(count):
            priority[cursor % EXACT.capacity] = highest
            cursor += 1
        size = min(cursor, EXACT.capacity)
        slots = data.draw(st.lists(st.integers(0, size - 1), min_size=1, max_size=6))
        errors = data.draw(st.lists(st.integers(-40, 40), min_size=len(slots), max_size=len(slots)))
        for slot, error in zip(slots, errors, strict=True):
            priority[slot] = abs(error) + 0.5
            highest = max(highest, priority[slot])
        uniforms = data.draw(st.lists(st.sampled_from([0.0, 0.25, 0.5, 0.875]), min_size=4))
        uniforms = uniforms[:4]  # four strata: every mass is exact
        mass = (np.arange(4) + uniforms) / 4 * priority.sum()
        wanted = np.searchsorted(np.cumsum(priority[:size]), mass, side="right").tolist()
        for side, buffer in buffers.items():
            updated(side, buffer, slots, np.array(errors, float))
            assert plain(buffer.state())["priority"].tolist() == priority.tolist(), side
            assert drawn(side, buffer, uniforms) == wanted, side


@given(data=st.data())
@SETTINGS
def test_any_sequence_draws_by_the_running_sums(data):
    run_any_sequence(load_siblings(PACKAGE), data)


@pytest.mark.parametrize(
    "bug",
    [
        "first-duplicate-wins",
        "sums-one-level-up-only",
        "boundary-belongs-to-the-left",
        "highest-of-the-last-update",
        "overwritten-keeps-its-priority",
    ],
)
def test_the_property_finds_planted_bugs(bug):
    mutant = next(m for m in COMPONENT.mutants if m.id == bug)
    with planted(PACKAGE, mutant) as siblings:
        test = FOUND(given(data=st.data())(run_any_sequence))
        with pytest.raises(AssertionError):
            test(siblings)


def test_a_state_moves_between_the_siblings(side):
    source = new_buffer("reference", filled=6)
    updated("reference", source, [1, 4], np.array([3.0, -0.2]))
    buffer = new_buffer(side)
    buffer.load_state(plain(source.state()))
    uniforms = np.random.default_rng(0).random(31)
    assert drawn(side, buffer, uniforms) == drawn("reference", source, uniforms)


def test_a_refused_update_changes_nothing(side):
    buffer = new_buffer(side, filled=4)
    before = plain(buffer.state())
    with pytest.raises(NonFiniteError, match=r"td_error holds inf at index \[2\]"):
        updated(side, buffer, [0, 1, 2], np.array([5.0, 1.0, np.inf]))
    after = plain(buffer.state())
    assert all(np.array_equal(before[name], after[name]) for name in before)


@pytest.mark.slow
def test_torch_compiles_draw_and_update_into_one_graph():
    import torch

    graphs = []

    def counting(graph, inputs):
        graphs.append(graph)
        return graph.forward

    buffer, other = (new_buffer("torch", filled=9) for _ in range(2))

    def step(own, uniforms, errors, beta):
        slots = own.draw(uniforms)
        weights = own.weights(slots, beta)
        own.update_priorities(slots, errors)
        return slots, weights

    run = torch.compile(
        lambda *arguments: step(buffer, *arguments), fullgraph=True, backend=counting
    )
    rng = np.random.default_rng(0)
    for beta in (0.4, 0.9):
        arguments = (tensor("torch", rng.random(5)), tensor("torch", rng.normal(size=5)))
        beta = tensor("torch", beta)
        for found, wanted in zip(run(*arguments, beta), step(other, *arguments, beta), strict=True):
            np.testing.assert_array_equal(to_numpy(found), to_numpy(wanted))
    assert len(graphs) == 1
