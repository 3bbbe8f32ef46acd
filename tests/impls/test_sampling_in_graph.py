"""A TensorFlow update stores and gathers what it learns from inside of its graph: the same bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import parity
from impls.errors import ShapeError
from impls.training.runs import Asked
from impls.training.train import make_loop
from tests.support.sampling import BATCH, CONFIGS, Trained, assert_same_bits, history, rows_of

tf = pytest.importorskip("tensorflow")

each_algorithm = pytest.mark.parametrize("name", list(CONFIGS))


def trained(name: str, **options: Any) -> Trained:
    return Trained("tf", name, **options)


@each_algorithm
def test_the_bits_are_those_of_a_batch_gathered_before(name: str) -> None:
    assert_same_bits(history(trained(name)), history(trained(name, in_graph=False)))


def test_the_bits_are_the_same_when_xla_compiles_the_update() -> None:
    ours, theirs = (trained("ddpg", in_graph=there, variant="xla") for there in (True, False))
    assert_same_bits(history(ours), history(theirs))


def test_where_no_graph_is_the_buffer_is_sampled_at_once() -> None:
    ours, theirs = (trained("ddpg", in_graph=there, variant="eager") for there in (True, False))
    assert_same_bits(history(ours), history(theirs))


@each_algorithm
def test_the_numbers_are_those_of_eager_updates(name: str) -> None:
    ours = history(trained(name, dtype="float64"))
    theirs = history(trained(name, in_graph=False, variant="eager", dtype="float64"))
    for one, other in zip(ours[1:], theirs[1:], strict=True):  # TD3's actor begins in the second
        parity.assert_parity(graph=one, eager=other)


@pytest.mark.parametrize("name", ["td3", "sac"])
def test_states_and_learning_rates_that_change_after_tracing_are_followed(name: str) -> None:
    other = trained(name).learner.state()

    def between(k: int, made: Trained) -> None:
        if k == 3:
            made.learner.load_state(other)
        if k == 5:
            made.learner.set_learning_rate("critic", 0.02)
        if k == 7:
            made.buffer.load_state({n: np.array(v) for n, v in made.buffer.state().items()})

    ours = history(trained(name), between)
    # the ring has no state to load: its rows stay what they are
    theirs = trained(name, in_graph=False)
    theirs.buffer.load_state = lambda state: None  # type: ignore[method-assign]
    assert_same_bits(ours, history(theirs, between))


@each_algorithm
def test_graphs_are_as_many_as_of_batches_gathered_before(name: str) -> None:
    made, counts = trained(name), []
    for _ in range(2):
        history(made)
        counts.append(made.learner.traces)
    assert counts == [2, 2] if name == "td3" else [1, 1]
    steps = ("_critic_step", "_delayed_step") if name == "td3" else ("_compiled_chain",)
    for step in steps:
        # with rows to store and without; how many there are makes no further graph
        assert len(getattr(made.learner, step)._graphs) == 2


def stored_behind(self: Any, packed: Any, indices: Any) -> Any:
    found = self._buffer.sample(indices)
    self._stored(packed)
    return found


def off_by_one(self: Any, packed: Any, indices: Any) -> Any:
    self._stored(packed)
    return self._buffer.sample(tf.maximum(indices - 1, 0))


def not_stored(self: Any, packed: Any, indices: Any) -> Any:
    return self._buffer.sample(indices)


@pytest.mark.parametrize("bug", [stored_behind, off_by_one, not_stored])
def test_a_planted_bug_is_seen(monkeypatch: pytest.MonkeyPatch, bug: Any) -> None:
    from impls.training import tf_side

    monkeypatch.setattr(tf_side._Buffer, "_stored_and_read", bug)
    monkeypatch.setattr(tf_side._Buffer, "state", lambda self: self._buffer.state())
    theirs = history(trained("ddpg", in_graph=False))
    with pytest.raises((AssertionError, tf.errors.InvalidArgumentError), match=r"update|indices"):
        assert_same_bits(history(trained("ddpg")), theirs)


@pytest.mark.parametrize("wrong", ["slot", "row"])
def test_what_the_graph_refuses_changes_no_parameter(wrong: str) -> None:
    """Only the counts of updates have gone on: they depend on no row."""
    made = trained("ddpg")
    rng = np.random.default_rng(0)
    made.add(rows_of(rng, 14, discrete=False))
    made.update(np.arange(BATCH), {})
    before = made.state()
    rows, slots = rows_of(rng, 1, discrete=False), np.arange(BATCH)
    if wrong == "row":
        rows["reward"][0] = np.nan
    else:
        slots[5] = made.size + 1
    made.buffer.add(rows)
    said = "indices out of range" if wrong == "slot" else "reward is not finite"
    with pytest.raises(tf.errors.InvalidArgumentError, match=said):
        made.update(slots, {})
    for name, value in made.learner.state().items():
        if not name.endswith("step"):
            np.testing.assert_array_equal(value, before[name], err_msg=name)


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
def test_a_loop_somebody_looks_into_trains_the_same(name: str, env: str) -> None:
    pytest.importorskip("gymnasium")
    settings = {"hidden_sizes": "11", "batch_size": "13", "learning_starts": "20",
                "capacity": "24", "steps": "100"}  # fmt: skip
    states, seen = [], []
    for watched in (False, True):
        loop = make_loop(Asked(name, "tf", env, 3, compiled=True, settings=settings))

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
