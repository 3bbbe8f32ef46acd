"""Replay buffer: any sequence of operations against a model that forgets nothing."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from impls.errors import DtypeError, EmptyBufferError, NonFiniteError
from impls.replay_buffer.cases import CONFIG, rows
from impls.replay_buffer.spec import COMPONENT, FIELDS, ReplayBufferConfig
from parity.backends import get_backend, to_numpy
from parity.runner import load_siblings, planted

PACKAGE = "impls.replay_buffer"
SIDES = ("torch", "tf", "reference")
SETTINGS = settings(
    max_examples=25,
    stateful_step_count=12,
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(scope="module", params=SIDES)
def side(request):
    return request.param


def new_buffer(side, config=CONFIG, dtype="float64", filled=0):
    buffer = load_siblings(PACKAGE)[side].ReplayBuffer(config, dtype=dtype)
    if filled:
        buffer.add_batch(tensors(side, rows(np.random.default_rng(filled), filled, config)))
    return buffer


def tensors(side, values):
    return {name: get_backend(side).tensor(array) for name, array in values.items()}


def plain(values):
    return {name: np.array(to_numpy(value)) for name, value in values.items()}


def equal(left, right):
    return set(left) == set(right) and all(
        a.dtype == right[n].dtype and np.array_equal(a, right[n]) for n, a in left.items()
    )


# a draw that was rounded up to 1 is one of the traps: it must not depend on luck
UNIFORMS = st.sampled_from((0.0, 1.0)) | st.floats(0, 1, width=32)


def machine(siblings):
    """A state machine that does the same to every side and to a list of all transitions."""

    class Buffers(RuleBasedStateMachine):
        @initialize(capacity=st.integers(1, 7))
        def create(self, capacity):
            self.config = ReplayBufferConfig(capacity, observation_shape=(3,), action_shape=(2,))
            self.buffers = {side: self.empty(side) for side in SIDES}
            self.added = []

        def empty(self, side):
            return siblings[side].ReplayBuffer(self.config, dtype="float64")

        def new_rows(self, count):
            new = rows(np.random.default_rng(len(self.added)), count)
            self.added += [{name: array[i] for name, array in new.items()} for i in range(count)]
            return new

        @property
        def held(self):
            """Slot -> transition: number k lies in slot k modulo the capacity."""
            capacity = self.config.capacity
            start = max(len(self.added) - capacity, 0)
            return {k % capacity: self.added[k] for k in range(start, len(self.added))}

        @rule()
        def add(self):
            row = {name: array[0] for name, array in self.new_rows(1).items()}
            for side, buffer in self.buffers.items():
                buffer.add(tensors(side, row))

        @rule(count=st.integers(0, 17))
        def add_batch(self, count):
            new = self.new_rows(count)
            for side, buffer in self.buffers.items():
                buffer.add_batch(tensors(side, new))

        @precondition(lambda self: self.added)
        @rule(uniforms=st.lists(UNIFORMS, min_size=1, max_size=9))
        def draw(self, uniforms):
            draws = np.array(uniforms, np.float32)
            for side, buffer in self.buffers.items():
                sample = siblings[side].sample_indices
                slots = to_numpy(sample(get_backend(side).tensor(draws), buffer.size))
                exact = [min(int(float(u) * len(self.held)), len(self.held) - 1) for u in draws]
                assert slots.tolist() == exact, side
                self.require_rows(side, buffer, slots)

        @precondition(lambda self: self.added)
        @rule(data=st.data())
        def draw_without_replacement(self, data):
            count = data.draw(st.integers(1, len(self.held)))
            keys = np.random.default_rng(len(self.added)).random(self.config.capacity)
            for side, buffer in self.buffers.items():
                function = siblings[side].indices_without_replacement
                slots = to_numpy(function(get_backend(side).tensor(keys), count, buffer.size))
                ranked = np.argsort(keys[: len(self.held)])[:count]
                assert np.array_equal(slots, ranked), side
                self.require_rows(side, buffer, slots)

        @rule()
        def reload(self):
            for side, old in self.buffers.items():
                self.buffers[side] = self.empty(side)
                self.buffers[side].load_state(old.state())

        def require_rows(self, side, buffer, slots):
            sample = plain(buffer.sample(get_backend(side).tensor(np.asarray(slots))))
            for i, slot in enumerate(slots):
                row = {name: array[i] for name, array in sample.items()}
                assert equal(row, self.held[int(slot)]), (side, slot)

        @invariant()
        def contents_are_those_of_the_model(self):
            held, capacity = self.held, self.config.capacity
            for side, buffer in self.buffers.items():
                state = plain(buffer.state())
                assert int(state["size"]) == len(held), side
                assert int(state["cursor"]) == len(self.added) % capacity, side
                for slot, row in held.items():
                    assert equal({n: state[n][slot] for n in FIELDS}, row), (side, slot)

    return Buffers


def test_any_sequence_of_operations_leaves_the_same_contents():
    run_state_machine_as_test(machine(load_siblings(PACKAGE)), settings=SETTINGS)


@pytest.mark.parametrize(
    "bug",
    [
        "wraps-one-slot-early",
        "cursor-not-wrapped",
        "large-batch-not-shifted",
        "first-rows-of-a-large-batch",
        "cursor-lost-on-reload",
        "draw-of-one-not-clipped",
        "empty-slots-drawn",
    ],
)
def test_the_state_machine_finds_planted_bugs(bug):
    mutant = next(m for m in COMPONENT.mutants if m.id == bug)
    found = settings(SETTINGS, phases=(Phase.generate,), max_examples=100)
    with planted(PACKAGE, mutant) as siblings, pytest.raises((AssertionError, IndexError)):
        run_state_machine_as_test(machine(siblings), settings=found)


def test_what_was_read_does_not_change_with_later_additions(side):
    buffer = new_buffer(side, filled=3)
    slots = get_backend(side).tensor(np.arange(3))
    state, sample, size = buffer.state(), buffer.sample(slots), buffer.size
    before = plain(state), plain(sample), int(size)
    buffer.add_batch(tensors(side, rows(np.random.default_rng(9), 4)))
    assert equal(plain(state), before[0])
    assert equal(plain(sample), before[1])
    assert (int(size), int(buffer.size)) == (3, 5)


def test_a_refused_batch_stores_nothing(side):
    buffer = new_buffer(side, filled=3)
    before = plain(buffer.state())
    bad = rows(np.random.default_rng(1), 2)
    bad["next_observation"][1, 2] = np.nan  # after fields that are in order
    with pytest.raises(NonFiniteError, match=r"next_observation holds nan at index \[1, 2\]"):
        buffer.add_batch(tensors(side, bad))
    assert equal(plain(buffer.state()), before)


def test_python_numbers_take_the_dtype_of_their_field(side):
    buffer = new_buffer(side, dtype="float32")
    row = {name: array[0] for name, array in rows(np.random.default_rng(1), 1).items()}
    row = {n: a.astype(np.float32) if a.dtype.kind == "f" else a for n, a in row.items()}
    buffer.add({**row, "reward": 1, "terminated": True, "truncated": False})
    sample = plain(buffer.sample(get_backend(side).tensor(np.array([0]))))
    assert (sample["reward"].dtype, sample["reward"][0]) == (np.float32, 1.0)
    for wrong in ({"reward": np.float64(1.0)}, {"terminated": 1}, {"reward": True}):
        with pytest.raises(DtypeError, match=next(iter(wrong))):
            buffer.add({**row, **wrong})


def test_a_state_moves_between_the_siblings(side):
    state = plain(new_buffer("reference", filled=7).state())
    buffer = new_buffer(side)
    buffer.load_state(state)
    assert equal(plain(buffer.state()), state)


@given(size=st.integers(1, 40), repeats=st.integers(1, 3))
@settings(max_examples=15)
def test_evenly_spread_draws_reach_every_slot_equally_often(side, size, repeats):
    impl, backend = load_siblings(PACKAGE)[side], get_backend(side)
    draws = (np.arange(size * repeats) + 0.5) / (size * repeats)
    slots = to_numpy(impl.sample_indices(backend.tensor(draws), size))
    assert np.bincount(slots, minlength=size).tolist() == [repeats] * size


def test_every_order_of_distinct_slots_is_equally_likely(side):
    impl, backend = load_siblings(PACKAGE)[side], get_backend(side)
    counts: dict[tuple[int, ...], int] = {}
    for order in permutations((0.1, 0.2, 0.3, 0.4)):
        keys = backend.tensor(np.array([*order, 0.0]))  # the empty slot has the smallest key
        slots = tuple(to_numpy(impl.indices_without_replacement(keys, 2, 4)).tolist())
        counts[slots] = counts.get(slots, 0) + 1
    assert counts == dict.fromkeys(permutations(range(4), 2), 2)


def test_tensorflow_graph_with_any_batch_size():
    """One trace adds batches of every size and samples by the size at that time."""
    import tensorflow as tf

    impl = load_siblings(PACKAGE)["tf"]
    buffer, model = new_buffer("tf"), new_buffer("reference")
    layout = CONFIG.layout("float64")
    spec = {n: tf.TensorSpec([None, *shape], kind) for n, (shape, kind) in layout.items()}

    @tf.function(input_signature=[spec, tf.TensorSpec([None], tf.float32)])
    def step(new, draws):
        buffer.add_batch(new)
        return buffer.sample(impl.sample_indices(draws, buffer.size))

    for count in (2, 1, 12, 4):
        new = rows(np.random.default_rng(count), count)
        draws = np.random.default_rng(count).random(9).astype(np.float32)
        found = step(tensors("tf", new), tf.constant(draws))
        model.add_batch(new)
        indices = load_siblings(PACKAGE)["reference"].sample_indices(draws, model.size)
        assert equal(plain(found), model.sample(indices))
    assert step.experimental_get_tracing_count() == 1


def test_tensorflow_graph_refuses_at_run_time():
    import tensorflow as tf

    buffer = new_buffer("tf", filled=3)
    sample, add = tf.function(buffer.sample), tf.function(buffer.add_batch)
    with pytest.raises(tf.errors.InvalidArgumentError, match="out of range"):
        sample(tf.constant([3], tf.int64))
    bad = rows(np.random.default_rng(1), 2)
    bad["reward"][1] = np.inf
    with pytest.raises(tf.errors.InvalidArgumentError, match="reward is not finite"):
        add(tensors("tf", bad))
    assert int(buffer.size) == 3


def test_sampling_before_adding(side):
    with pytest.raises(EmptyBufferError):
        new_buffer(side).sample(get_backend(side).tensor(np.array([0])))
