"""n-step replay: any stream of steps against sums over the whole stream."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from impls.errors import NonFiniteError
from impls.n_step_replay.cases import CONFIG, steps
from impls.n_step_replay.config import NStepReplayConfig
from impls.n_step_replay.spec import COMPONENT
from parity.backends import get_backend, to_numpy
from parity.runner import load_siblings, planted

PACKAGE = "impls.n_step_replay"
SIDES = ("torch", "tf", "reference")
SETTINGS = settings(max_examples=12, deadline=None, database=None, derandomize=True)
FOUND = settings(SETTINGS, max_examples=150, phases=(Phase.generate,))


@pytest.fixture(scope="module", params=SIDES)
def side(request):
    return request.param


def new_buffer(side, config=CONFIG, dtype="float64", siblings=None):
    return (siblings or load_siblings(PACKAGE))[side].NStepReplay(config, dtype=dtype)


def tensors(side, values):
    return {name: get_backend(side).tensor(array) for name, array in values.items()}


def plain(values):
    return {name: np.array(to_numpy(value)) for name, value in values.items()}


def expected(stream, config):
    """Slot -> transition, from the episodes of each environment: no window is formed."""
    total, slots = len(stream["reward"]), {}
    for t in range(total - config.steps + 1):
        for b in range(config.environments):
            ends = stream["terminated"][:, b] | stream["truncated"][:, b]
            following = [i for i in range(t, total) if ends[i]]
            last = min(following[0] if following else total, t + config.steps - 1)
            discount = config.gamma ** np.arange(last + 1 - t)
            slots[(t * config.environments + b) % config.capacity] = {
                "observation": stream["observation"][t, b],
                "action": stream["action"][t, b],
                "reward": float(discount @ stream["reward"][t : last + 1, b]),
                "next_observation": stream["next_observation"][last, b],
                "terminated": stream["terminated"][last, b],
                "truncated": stream["truncated"][last, b],
                "steps": last + 1 - t,
            }
    return slots


def require_contents(side, buffer, wanted):
    assert int(buffer.size) == len(wanted), side
    if not wanted:
        return
    found = plain(buffer.sample(get_backend(side).tensor(np.arange(len(wanted)))))
    for slot, row in wanted.items():
        for name, value in row.items():
            np.testing.assert_allclose(found[name][slot], value, rtol=0, atol=1e-12)


def run_any_stream(siblings, data):
    config = NStepReplayConfig(
        data.draw(st.integers(3, 17), label="capacity"),
        (3,),
        (2,),
        steps=data.draw(st.integers(1, 5), label="n"),
        environments=data.draw(st.integers(1, 3), label="B"),
        gamma=data.draw(st.sampled_from([0.0, 0.5, 0.9, 1.0]), label="gamma"),
    )
    sizes = data.draw(st.lists(st.integers(0, 5), min_size=1, max_size=4), label="sizes")
    rng = np.random.default_rng(data.draw(st.integers(0, 1000), label="rng"))
    stream = steps(rng, sum(sizes), config, ends=data.draw(st.sampled_from([0.0, 0.2, 0.6])))
    move = data.draw(st.integers(0, len(sizes)), label="moved before")
    for side in SIDES:
        buffer, start = new_buffer(side, config, siblings=siblings), 0
        for i, size in enumerate(sizes):
            if i == move:
                state, buffer = buffer.state(), new_buffer(side, config, siblings=siblings)
                buffer.load_state(state)
            part = {name: values[start : start + size] for name, values in stream.items()}
            buffer.add_batch(tensors(side, part))
            start += size
        require_contents(side, buffer, expected(stream, config))


@given(data=st.data())
@SETTINGS
def test_any_stream_is_stored_as_its_episodes_say(data):
    run_any_stream(load_siblings(PACKAGE), data)


@pytest.mark.parametrize(
    "bug",
    ["truncation-does-not-cut", "across-environments", "window-lost-on-reload", "steps-is-n"],
)
def test_the_property_finds_planted_bugs(bug):
    mutant = next(m for m in COMPONENT.mutants if m.id == bug)
    with planted(PACKAGE, mutant) as siblings:
        test = FOUND(given(data=st.data())(run_any_stream))
        with pytest.raises(AssertionError):
            test(siblings)


def test_one_step_gives_the_steps_themselves(side):
    config = NStepReplayConfig(30, (3,), (2,), steps=1, environments=2, gamma=0.3)
    stream = steps(np.random.default_rng(0), 5, config)
    buffer = new_buffer(side, config)
    buffer.add_batch(tensors(side, stream))
    found = plain(buffer.sample(get_backend(side).tensor(np.arange(10))))
    assert found.pop("steps").tolist() == [1] * 10
    for name, values in found.items():
        np.testing.assert_array_equal(values, stream[name].reshape(10, *values.shape[1:]))


def test_a_state_moves_between_the_siblings(side):
    source = new_buffer("reference")
    source.add_batch(steps(np.random.default_rng(0), 2))
    buffer = new_buffer(side)
    buffer.load_state(plain(source.state()))
    more = steps(np.random.default_rng(1), 7)
    source.add_batch(more)
    buffer.add_batch(tensors(side, more))
    for name, value in plain(buffer.state()).items():
        np.testing.assert_allclose(value, plain(source.state())[name], rtol=0, atol=1e-12)


def test_a_refused_step_leaves_no_mark(side):
    buffer = new_buffer(side)
    buffer.add_batch(tensors(side, steps(np.random.default_rng(0), 4)))
    before = plain(buffer.state())
    bad = steps(np.random.default_rng(1), 3)
    bad["next_observation"][2, 1, 0] = np.inf
    with pytest.raises(NonFiniteError, match=r"next_observation holds inf at index \[2, 1, 0\]"):
        buffer.add_batch(tensors(side, bad))
    after = plain(buffer.state())
    assert all(np.array_equal(before[name], after[name]) for name in before)


@pytest.mark.slow
def test_torch_compiles_an_addition_into_one_graph():
    import torch

    buffer, plain_one = new_buffer("torch"), new_buffer("torch")
    graphs = []

    def counting(graph, inputs):
        graphs.append(graph)
        return graph.forward

    add = torch.compile(buffer.add, fullgraph=True, backend=counting)
    stream = steps(np.random.default_rng(0), 6)
    for t in range(6):
        row = tensors("torch", {name: values[t] for name, values in stream.items()})
        add(row)
        plain_one.add(row)
    assert len(graphs) == 1
    found, wanted = plain(buffer.state()), plain(plain_one.state())
    assert all(np.array_equal(found[name], wanted[name]) for name in wanted)
