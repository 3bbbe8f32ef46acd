"""Compiled TensorFlow learners trace a bounded number of graphs, and their graphs are found again.

A batch of another size makes one more graph, for any size; a third size and a changed learning rate
make none.
"""

from __future__ import annotations

import numpy as np
import pytest

import parity
from impls.errors import ShapeError
from tests.support.learners import Arrays, apart_state, example, make_config

tf = pytest.importorskip("tensorflow")


def learner(algorithm: str, variant: str) -> Arrays:
    fields = {"policy_delay": 1} if algorithm == "td3" else {}
    config = make_config(algorithm, **fields)
    made = Arrays(algorithm, "tf", config, variant=variant)
    made.load_state(apart_state(algorithm, config))
    return made


@pytest.mark.parametrize("algorithm", ["ddpg", "td3"])
def test_ragged_batches_and_learning_rates_make_no_further_graph(algorithm: str) -> None:
    graph, eager = learner(algorithm, "function"), learner(algorithm, "eager")
    traces = []
    for k, rows in enumerate((13, 13, 5, 7, 1, 13)):
        if k == 1:
            for side in (graph, eager):
                side.set_learning_rate("critic", 0.02)
        batch, draws = example(algorithm, rows, seed=k)
        parity.assert_parity(graph=graph.update(batch, draws), eager=eager.update(batch, draws))
        parity.assert_parity(graph=graph.state(), eager=eager.state())
        traces.append(graph.learner.traces)
    assert traces == [1, 1, 2, 2, 2, 2]


def test_a_field_in_the_wrong_argument_is_refused_after_the_right_call_as_well() -> None:
    """What was accepted once is not looked at again: only if it is the same in every respect."""
    made = learner("td3", "eager")
    batch, draws = example("td3")
    made.update(batch, draws)
    with pytest.raises(ShapeError, match="missing"):
        made.update({**batch, **draws}, {})


def test_graphs_of_mappings() -> None:
    """The names of a mapping belong to the graph, not only the shapes of its tensors."""
    from impls.learner.graphs_tf import Graphs

    calls = []

    def combine(values: dict[str, tf.Tensor], factor: tf.Tensor) -> dict[str, tf.Tensor]:
        calls.append(tuple(values))
        return {"out": factor * values["a"] - values.get("b", values.get("c"))}

    graph = Graphs(combine)
    one, two, factor = tf.constant([1.0, 2.0]), tf.constant([3.0, 5.0]), tf.constant(2.0)
    for given in ({"a": one, "b": two}, {"b": two, "a": one}, {"a": one, "c": two}):
        np.testing.assert_array_equal(graph(given, factor)["out"], [-1.0, -1.0])
    assert len(calls) == 3
    graph({"a": one, "b": two}, tf.constant(3.0))
    assert len(calls) == 3
    double = {name: tf.cast(value, tf.float64) for name, value in {"a": one, "b": two}.items()}
    assert graph(double, tf.cast(factor, tf.float64))["out"].dtype == tf.float64


def test_a_graph_can_become_part_of_a_larger_one() -> None:
    from impls.learner.graphs_tf import Graphs

    inner = Graphs(lambda x: {"y": x + 1.0})
    outer = tf.function(lambda x: 2.0 * inner(x)["y"], autograph=False)
    assert float(outer(tf.constant(3.0))) == 8.0
    assert float(inner(tf.constant(3.0))["y"]) == 4.0
