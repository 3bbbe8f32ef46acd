"""A TensorFlow update stores and gathers what it learns from inside of its graph: the same bits.

The other side of the comparison is a ring of NumPy arrays, whose rows are given to the same
learner's ``update`` as tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import parity
from impls.errors import ShapeError
from impls.replay_buffer.config import ReplayBufferConfig
from impls.training.registry import algorithm
from impls.training.runs import Asked
from impls.training.sides import make_side
from impls.training.train import make_loop

tf = pytest.importorskip("tensorflow")

CONFIGS = {"ddpg": "DDPGConfig", "td3": "TD3Config", "sac": "SACConfig", "dqn": "DQNConfig"}
FIELDS: Mapping[str, dict[str, Any]] = {"td3": {"policy_delay": 2}, "dqn": {"target_period": 2}}
BATCH, CAPACITY = 13, 17
ADDED = (14, 1, 0, 5, 1, 0, 20, 1, 2)
"""Rows before each update: some, none, enough to wrap the ring, more than it has slots."""

each_algorithm = pytest.mark.parametrize("name", list(CONFIGS))


class Trained:
    """A small learner with a buffer that is sampled in its graph, or with the ring of arrays."""

    def __init__(
        self, name: str, *, in_graph: bool = True, variant: str = "function", dtype: str = "float32"
    ) -> None:
        sizes = {"observation_size": 3, "action_size": 2, "hidden_sizes": (11, 7)}
        module = import_module(f"impls.{name}.config")
        config = getattr(module, CONFIGS[name])(**sizes, **FIELDS.get(name, {}), check_finite=False)
        real = import_module(f"impls.{name}.tf_impl")

        def make_learner(config: Any, *, dtype: str, variant: str) -> Any:
            return real.make_learner(config, dtype=dtype, variant=self.variant)

        self.name, self.variant = name, variant
        self.side = make_side(
            "tf", algorithm(name), config, dtype=dtype, compiled=variant != "eager",
            impl=SimpleNamespace(make_learner=make_learner),
        )  # fmt: skip
        self.learner = self.side.learner
        self.learner.load_state(module.initial_state(config, np.random.default_rng(1)))
        self.discrete, self.in_graph = name == "dqn", in_graph
        action = () if self.discrete else (2,)
        kept = ReplayBufferConfig(CAPACITY, (3,), action, "int64" if self.discrete else None)
        self.buffer = self.side.buffer(kept)
        self.ring: dict[str, np.ndarray] = {}
        self.size = self.cursor = 0

    def add(self, rows: Mapping[str, np.ndarray]) -> None:
        for i in range(len(rows["reward"])):
            row = {n: v[i : i + 1] for n, v in rows.items()}
            self.buffer.add(row)
            for name, value in row.items():
                empty = np.zeros((CAPACITY, *value.shape[1:]), value.dtype)
                self.ring.setdefault(name, empty)[self.cursor] = value[0]
            self.cursor = (self.cursor + 1) % CAPACITY
            self.size = min(self.size + 1, CAPACITY)

    def update(self, slots: np.ndarray, draws: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        given = self.side.tensors({n: v for n, v in draws.items() if n in self._drawn})
        batch = (
            self.buffer.later(slots)
            if self.in_graph
            else self.side.tensors({n: v[slots] for n, v in self.ring.items()})
        )
        return {n: np.asarray(v) for n, v in self.side.update(batch, given).items()}

    def state(self) -> dict[str, np.ndarray]:
        held = self.buffer.state() if self.in_graph else self.side.tensors(self.ring)
        kept = {f"buffer/{n}": np.array(held[n])[: self.size] for n in self.ring}
        return {**self.learner.state(), **kept}

    @property
    def _drawn(self) -> tuple[str, ...]:
        return {"td3": ("noise",), "sac": ("noise", "next_noise")}.get(self.name, ())


def rows_of(rng: np.random.Generator, count: int, discrete: bool) -> dict[str, np.ndarray]:
    action = rng.integers(2, size=count) if discrete else rng.uniform(-1, 1, (count, 2))
    return {
        "observation": rng.normal(size=(count, 3)).astype(np.float32),
        "action": action if discrete else action.astype(np.float32),
        "reward": rng.normal(size=count).astype(np.float32),
        "next_observation": rng.normal(size=(count, 3)).astype(np.float32),
        "terminated": rng.random(count) < 0.2,
        "truncated": rng.random(count) < 0.2,
    }


def draws_of(rng: np.random.Generator) -> dict[str, np.ndarray]:
    return {n: rng.normal(size=(BATCH, 2)).astype(np.float32) for n in ("noise", "next_noise")}


Between = Callable[[int, Trained], None]


def history(made: Trained, between: Between = lambda k, made: None) -> list[dict[str, Any]]:
    """What every update returns, and the state behind it."""
    rng, found = np.random.default_rng(0), []
    for k, count in enumerate(ADDED):
        made.add(rows_of(rng, count, made.discrete))
        between(k, made)
        slots = rng.integers(made.size, size=BATCH)
        slots[0] = (made.cursor - 1) % CAPACITY  # the row that has just come
        returned = made.update(slots, draws_of(rng))
        found.append({**{f"made/{n}": v for n, v in returned.items()}, **made.state()})
    return found


def assert_same_bits(
    ours: list[dict[str, np.ndarray]], theirs: list[dict[str, np.ndarray]]
) -> None:
    for k, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        assert one.keys() == other.keys()
        for name, value in one.items():
            np.testing.assert_array_equal(value, other[name], err_msg=f"update {k}: {name}")


@each_algorithm
def test_the_bits_are_those_of_a_batch_gathered_before(name: str) -> None:
    assert_same_bits(history(Trained(name)), history(Trained(name, in_graph=False)))


def test_the_bits_are_the_same_when_xla_compiles_the_update() -> None:
    ours, theirs = (Trained("ddpg", in_graph=there, variant="xla") for there in (True, False))
    assert_same_bits(history(ours), history(theirs))


def test_where_no_graph_is_the_buffer_is_sampled_at_once() -> None:
    ours, theirs = (Trained("ddpg", in_graph=there, variant="eager") for there in (True, False))
    assert_same_bits(history(ours), history(theirs))


@each_algorithm
def test_the_numbers_are_those_of_eager_updates(name: str) -> None:
    ours = history(Trained(name, dtype="float64"))
    theirs = history(Trained(name, in_graph=False, variant="eager", dtype="float64"))
    for one, other in zip(ours[1:], theirs[1:], strict=True):  # TD3's actor begins in the second
        parity.assert_parity(graph=one, eager=other)


@pytest.mark.parametrize("name", ["td3", "sac"])
def test_states_and_learning_rates_that_change_after_tracing_are_followed(name: str) -> None:
    other = Trained(name).learner.state()

    def between(k: int, made: Trained) -> None:
        if k == 3:
            made.learner.load_state(other)
        if k == 5:
            made.learner.set_learning_rate("critic", 0.02)
        if k == 7:
            made.buffer.load_state({n: np.array(v) for n, v in made.buffer.state().items()})

    ours = history(Trained(name), between)
    # the ring has no state to load: its rows stay what they are
    theirs = Trained(name, in_graph=False)
    theirs.buffer.load_state = lambda state: None  # type: ignore[method-assign]
    assert_same_bits(ours, history(theirs, between))


@each_algorithm
def test_graphs_are_as_many_as_of_batches_gathered_before(name: str) -> None:
    made, counts = Trained(name), []
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
    theirs = history(Trained("ddpg", in_graph=False))
    with pytest.raises((AssertionError, tf.errors.InvalidArgumentError), match=r"update|indices"):
        assert_same_bits(history(Trained("ddpg")), theirs)


@pytest.mark.parametrize("wrong", ["slot", "row"])
def test_what_the_graph_refuses_changes_no_parameter(wrong: str) -> None:
    """Only the counts of updates have gone on: they depend on no row."""
    made = Trained("ddpg")
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
    made = Trained("ddpg")
    made.add(rows_of(np.random.default_rng(0), 14, discrete=False))
    batch = made.buffer.later(np.arange(BATCH))
    made.side.update(batch, {})
    with pytest.raises(RuntimeError, match="sample another one"):
        made.side.update(batch, {})


def test_a_batch_that_does_not_fit_is_refused_by_name() -> None:
    made = Trained("ddpg")
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
