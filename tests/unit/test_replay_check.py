"""The replay check itself: what it records, what makes it void, what it refuses."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf
import torch

from parity.checks.replay import Operation, ReplayCheck
from parity.component import Component
from parity.errors import InvalidInput
from parity.runner import run_check
from parity.verdict import Verdict

COMPONENT = Component(name="toy", contract=(), checks=())


class Rows:
    """Keeps every row ever added, as tensors or arrays."""

    library = np

    def __init__(self, config, *, dtype, device):
        self.rows = []

    @property
    def size(self):
        return len(self.rows)

    def add(self, row):
        self.rows.append(row["x"])

    def add_batch(self, rows):
        for x in rows["x"]:
            self.add({"x": x})

    def sample(self, indices):
        return {"x": self.library.stack([self.rows[int(i)] for i in indices])}

    def state(self):
        return {"x": self.library.stack(self.rows)} if self.rows else {}

    def load_state(self, state):
        self.rows = list(state["x"])


def sibling(library, **changes):
    def draw(uniforms, size):
        return library.floor(uniforms * size)

    kind = type("Rows", (Rows,), {"library": library, **changes})
    return SimpleNamespace(Buffer=kind, draw=draw)


def operations(rng):
    return [
        Operation("add", {"x": rng.normal(size=3)}),
        Operation("add_batch", {"x": rng.normal(size=(4, 3))}),
        Operation("sample", np.array([3, 0])),
        Operation("reload"),
        Operation("draw", rng.random(5)),
    ]


def run(made=operations, **changes):
    check = ReplayCheck(name="Buffer", case="toy", config=None, operations=made, draw="draw")
    siblings = {"torch": sibling(torch, **changes), "reference": sibling(np)}
    return run_check(COMPONENT, check, siblings, dtype="float64")


def test_contents_and_samples_are_compared_after_every_operation():
    report = run()
    assert report.verdict is Verdict.AGREE
    assert [entry.name for entry in report.entries] == [
        "0/add/state/x",
        "1/add_batch/state/x",
        "2/sample/sample/x",
        "3/reload/state/x",
        "4/draw/indices",
        "4/draw/sample/x",
        "held/3/state/x",
    ]


def test_a_side_that_samples_other_rows_differs_there():
    def reversed_sample(self, indices):
        return Rows.sample(self, indices.flip(0))

    report = run(sample=reversed_sample)
    assert report.verdict is Verdict.DIVERGE
    assert report.first_divergence.name == "2/sample/sample/x"


def test_a_side_that_loses_rows_on_the_way_differs_in_its_contents():
    def load_state(self, state):
        self.rows = list(state["x"])[::-1]

    assert run(load_state=load_state).first_divergence.name == "3/reload/state/x"


def test_nothing_sampled_is_no_check():
    with pytest.raises(InvalidInput, match="nothing is sampled"):
        run(lambda rng: operations(rng)[:2])


def test_unknown_operations_are_refused():
    with pytest.raises(InvalidInput, match="unknown operation 'pop'"):
        Operation("pop")


class Counter:
    """A buffer that only counts its rows, in a TensorFlow variable."""

    def __init__(self, config, *, dtype, device):
        self.size = np.zeros((), np.int64)
        self.total = tf.Variable(0, dtype=tf.int64)

    def add_batch(self, rows):
        self.total.assign_add(tf.shape(rows["x"], tf.int64)[0])

    def sample(self, indices):
        return {"x": indices}

    def state(self):
        return {"total": self.total}


@pytest.mark.parametrize("relaxed", [False, True])
def test_a_step_traced_more_often_than_its_shapes_change(relaxed, monkeypatch):
    def made(rng):
        adds = [Operation("add_batch", {"x": rng.normal(size=(n, 3))}) for n in (2, 4, 2)]
        return [*adds, Operation("sample", np.array([1]))]

    if relaxed:  # tracing anew for each call, as Python arguments do
        eager = tf.function
        monkeypatch.setattr(tf, "function", lambda f, **options: _retracing(eager, f))
    check = ReplayCheck(name="Buffer", case="toy", config=None, operations=made)
    siblings = {side: SimpleNamespace(Buffer=Counter) for side in ("tf", "reference")}
    report = run_check(COMPONENT, check, siblings, dtype="float64", mode="compiled")
    found = [(p.name, p.details) for p in report.problems]
    assert found == ([("tf/add_batch", {"traces": 3, "declared": 2})] if relaxed else [])
    assert report.passed is not relaxed


def _retracing(function, plain):
    """A traced function that forgets its traces, but counts them."""
    made = []

    def call(*arguments):
        made.append(function(plain))
        return made[-1](*arguments)

    call.experimental_get_tracing_count = lambda: len(made)
    return call
