"""A compiled torch update gathers what it learns from inside of its graph: the same numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import parity
from impls.errors import ShapeError
from impls.training.runs import Asked
from impls.training.train import make_loop
from tests.support.sampling import BATCH, CONFIGS, Trained, assert_same_bits, history, rows_of

torch_side = pytest.importorskip("impls.training.torch_side")
LATER = torch_side._Buffer.later

each_algorithm = pytest.mark.parametrize("name", list(CONFIGS))


@pytest.fixture
def operations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Graphs are run operation by operation: Inductor takes ten seconds for each."""
    from impls.learner.torch_impl import Learner

    def as_it_is(self: Any, graph: Any, inputs: Any) -> Any:
        self.traces += 1
        return graph.forward

    monkeypatch.setattr(Learner, "_inductor", as_it_is)


def trained(name: str, **options: Any) -> Trained:
    return Trained("torch", name, **options)


@each_algorithm
@pytest.mark.usefixtures("operations")
def test_the_bits_are_those_of_a_batch_gathered_before(name: str) -> None:
    assert_same_bits(history(trained(name)), history(trained(name, in_graph=False)))


@pytest.mark.parametrize("name", ["ddpg", "dqn"])
def test_the_numbers_are_those_of_eager_updates_when_inductor_compiles(name: str) -> None:
    ours = history(trained(name, dtype="float64"))
    theirs = history(trained(name, in_graph=False, variant="eager", dtype="float64"))
    for one, other in zip(ours, theirs, strict=True):
        parity.assert_parity(graph=one, eager=other)


def test_where_no_graph_is_the_buffer_is_sampled_at_once() -> None:
    ours, theirs = (trained("ddpg", in_graph=there, variant="eager") for there in (True, False))
    assert_same_bits(history(ours), history(theirs))


@pytest.mark.parametrize("name", ["td3", "sac"])
@pytest.mark.usefixtures("operations")
def test_states_and_learning_rates_that_change_after_tracing_are_followed(name: str) -> None:
    other = trained(name).learner.state()

    def between(k: int, made: Trained) -> None:
        if k == 3:
            made.learner.load_state(other)
        if k == 5:
            made.learner.set_learning_rate("critic", 0.02)
        if k == 7:
            made.buffer.load_state({n: np.asarray(v) for n, v in made.buffer.state().items()})

    ours = history(trained(name), between)
    # the ring has no state to load: its rows stay what they are
    theirs = trained(name, in_graph=False)
    theirs.buffer.load_state = lambda state: None  # type: ignore[method-assign]
    assert_same_bits(ours, history(theirs, between))


@each_algorithm
@pytest.mark.usefixtures("operations")
def test_rows_that_come_and_go_make_no_further_graph(name: str) -> None:
    made, counts = trained(name), []
    for _ in range(2):
        history(made)
        counts.append(made.learner.traces)
    assert counts == ([2, 2] if name == "td3" else [1, 1])


def before_it_is_stored(self: Any, indices: Any) -> Any:
    if not int(self._buffer.size):
        return LATER(self, indices)
    rows, self._waiting = self._waiting, []
    found = LATER(self, indices)
    self._waiting = rows
    return found


def off_by_one(self: Any, indices: Any) -> Any:
    return LATER(self, np.maximum(indices - 1, 0))


def gathered_once(self: Any, indices: Any) -> Any:
    self.kept = getattr(self, "kept", indices)
    return LATER(self, self.kept)


@pytest.mark.parametrize("bug", [before_it_is_stored, off_by_one, gathered_once])
@pytest.mark.usefixtures("operations")
def test_a_planted_bug_is_seen(monkeypatch: pytest.MonkeyPatch, bug: Any) -> None:
    monkeypatch.setattr(torch_side._Buffer, "later", bug)
    theirs = history(trained("ddpg", in_graph=False))
    with pytest.raises((AssertionError, IndexError), match=r"update|indices"):
        assert_same_bits(history(trained("ddpg")), theirs)


def test_an_empty_slot_changes_no_parameter() -> None:
    made = trained("ddpg")
    made.add(rows_of(np.random.default_rng(0), 14, discrete=False))
    before, slots = made.state(), np.arange(BATCH)
    slots[5] = made.size
    with pytest.raises(IndexError, match=r"indices\[5\] = 14 is out of range"):
        made.update(slots, {})
    for name, value in made.state().items():
        np.testing.assert_array_equal(value, before[name], err_msg=name)


@pytest.mark.usefixtures("operations")
def test_a_batch_is_for_one_update() -> None:
    made = trained("ddpg")
    made.add(rows_of(np.random.default_rng(0), 14, discrete=False))
    batch = made.buffer.later(np.arange(BATCH))
    made.side.update(batch, {})
    with pytest.raises(RuntimeError, match="sample another one"):
        made.side.update(batch, {})


def test_a_batch_that_does_not_fit_is_refused_by_name() -> None:
    made = trained("ddpg")
    made.add(rows_of(np.random.default_rng(0), 14, discrete=False))
    batch = made.buffer.later(np.arange(BATCH))
    with pytest.raises(ShapeError, match=r"missing \['reward'\]"):
        made.side.update({n: v for n, v in batch.items() if n != "reward"}, {})
    with pytest.raises(ShapeError, match=r"reward'\] has shape \[13, 3\]"):
        made.side.update({**batch, "reward": batch["observation"]}, {})


@pytest.mark.parametrize(("name", "env"), [("td3", "Pendulum-v1"), ("dqn", "CartPole-v1")])
@pytest.mark.usefixtures("operations")
def test_a_loop_somebody_looks_into_trains_the_same(name: str, env: str) -> None:
    pytest.importorskip("gymnasium")
    settings = {"hidden_sizes": "11", "batch_size": "13", "learning_starts": "20",
                "capacity": "24", "steps": "100"}  # fmt: skip
    states, seen = [], []
    for watched in (False, True):
        loop = make_loop(Asked(name, "torch", env, 3, compiled=True, settings=settings))

        def look(batch: Any, draws: Any, update: Any = loop.side.update) -> Any:
            seen.append(batch["reward"].numpy())
            return update(batch, draws)

        if watched:
            loop.on_update = look
        while loop.updates < 8:
            loop.advance()
        loop.close()
        states.append(loop.state())
    assert len(seen) == 8
    assert_same_bits([states[0]], [states[1]])
