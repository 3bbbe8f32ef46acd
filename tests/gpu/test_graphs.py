"""A graph repeats what its step did when it was recorded: what such a step must not do, shows."""

from __future__ import annotations

from typing import Any

import pytest

from tests.gpu.conftest import Stage
from tests.gpu.graphs import Counts, Graphed

pytestmark = pytest.mark.gpu


@pytest.fixture
def torch(stage: Stage) -> Any:
    if "torch" not in stage.frameworks:
        pytest.skip("torch is not here")
    return pytest.importorskip("torch")


class Counting:
    """Moves a tensor that it holds, and a number that Python holds."""

    def __init__(self, torch: Any, device: str) -> None:
        self.moved, self.calls = torch.zeros(3, device=device), 0

    def step(self, x: Any) -> Any:
        self.calls += 1
        self.moved += x
        return self.moved + self.calls


def test_tensors_move_and_numbers_of_python_do_not(torch: Any, stage: Stage) -> None:
    counting, counts = Counting(torch, stage.device), Counts()
    run = Graphed(counting.step, counts)
    found = [run(torch.full((3,), float(x), device=stage.device)) for x in (2, 3, 5)]
    assert counting.moved.tolist() == [10.0] * 3  # the warm-up left nothing behind
    assert (counts.calls, counts.recorded, counts.replayed) == (3, 1, 3)
    frozen = [float(value[0]) - total for value, total in zip(found, (2, 5, 10), strict=True)]
    assert len(set(frozen)) == 1, "the number in Python should have stayed as it was recorded"


def test_another_shape_is_another_graph(torch: Any, stage: Stage) -> None:
    counts = Counts()
    run = Graphed(lambda x: x * 2, counts)
    for rows in (3, 4, 3):
        x = torch.arange(rows, device=stage.device)
        assert run(x).tolist() == [2 * i for i in range(rows)]
    assert counts.recorded == 2


def test_a_decision_on_the_host_is_refused(torch: Any, stage: Stage) -> None:
    if stage.device != "cpu":
        pytest.skip("an aborted recording leaves CUDA in a state that other tests should not meet")
    run = Graphed(lambda x: x + 1 if bool((x > 0).all()) else x, Counts())
    with pytest.raises(RuntimeError, match="data-dependent"):
        run(torch.ones(3))
