"""The training checks themselves, on a toy learner that has nothing to do with frameworks."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

from parity.checks.learner import Link
from parity.checks.training import LinkCheck, LockstepCheck, UpdateSequenceCheck
from parity.component import Component
from parity.errors import InvalidInput
from parity.runner import run_check
from parity.verdict import Verdict

COMPONENT = Component(name="toy", contract=(), checks=())
ROWS, SIZE = 5, 3

LINKS = (
    Link("predict", ("x",), ("prediction",)),
    Link("gradient", ("x", "prediction", "y"), ("gradients",)),
    Link("apply", ("gradients",), writes=("slot/*", "param/*")),
)


class Toy:
    """Linear regression by gradient descent with momentum: ``w <- w - rate * m``."""

    def __init__(self, config, *, dtype, device="cpu", variant="eager"):
        self.dtype, self.variant, self.traces = np.dtype(dtype), variant, 0
        self.w, self.m = np.zeros(SIZE, dtype), np.zeros(SIZE, dtype)
        self.rate, self.step = np.array(0.1), 0

    def state(self):
        return {
            "slot/m": self.m.copy(),
            "param/w": self.w.copy(),
            "rate": self.rate.copy(),
            "step": np.array(self.step, np.int64),
        }

    def load_state(self, state):
        self.w[...], self.m[...] = state["param/w"], state["slot/m"]
        self.rate, self.step = np.array(state["rate"]), int(state["step"])

    def to_canonical(self, values):
        return {name: np.array(value) for name, value in values.items()}

    def from_canonical(self, values):
        return {name: np.array(value, self.dtype) for name, value in values.items()}

    def set_rate(self, value):
        self.rate = np.array(value)

    def predict(self, x):
        return np.asarray(x) @ self.w

    def gradient(self, x, prediction, y):
        x, prediction, y = (np.asarray(value) for value in (x, prediction, y))
        return {"w": 2 * x.T @ (prediction - y) / len(y)}

    def apply(self, gradients):
        self.m[...] = 0.9 * self.m + gradients["w"]
        self.w -= self.rate.astype(self.dtype) * self.m

    def update(self, batch, draws):
        if self.variant != "eager" and self.step == 0:
            self.traces += 1
        self.step += 1
        prediction = self.predict(batch["x"])
        noisy = np.asarray(batch["y"]) + np.asarray(draws["noise"])
        gradients = self.gradient(batch["x"], prediction, noisy)
        self.apply(gradients)
        return {"prediction": prediction}


def sides_of(**learners):
    siblings = {}
    for name in ("torch", "reference"):
        siblings[name] = ModuleType(f"toy_{name}")
        siblings[name].make_learner = learners.get(name, Toy)
    return siblings


def examples(rng, count):
    return [
        (
            {"x": rng.normal(size=(ROWS, SIZE)), "y": rng.normal(size=ROWS)},
            {"noise": rng.normal(size=ROWS)},
        )
        for _ in range(count)
    ]


def initial_state(rng):
    return {**Toy(None, dtype="float64").state(), "param/w": rng.normal(size=SIZE)}


COMMON = {"case": "toy", "config": None, "initial_state": initial_state, "examples": examples}


def link_check(name, **fields):
    return LinkCheck(**{"name": name, "links": LINKS, **COMMON, **fields})


def sequence(kind=UpdateSequenceCheck, **fields):
    return kind(**{"name": "update", "traces": 1, **COMMON, **fields})


def run(check, dtype="float64", mode="eager", **learners):
    return run_check(COMPONENT, check, sides_of(**learners), dtype=dtype, mode=mode)


def names(report):
    return [entry.name for entry in report.entries]


# links


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("link", LINKS, ids=lambda link: link.name)
def test_equal_learners_agree_link_by_link(link, dtype):
    assert run(link_check(link.name), dtype).verdict is Verdict.AGREE


def test_what_a_link_returns_and_writes_is_compared_at_each_chosen_update():
    assert names(run(link_check("predict", at=(0, 2)))) == [
        "update/00/prediction",
        "update/02/prediction",
    ]
    assert names(run(link_check("gradient", at=(1,)))) == ["update/01/gradients/w"]
    assert names(run(link_check("apply", at=(0,)))) == [
        "update/00/state/slot/m",
        "update/00/state/param/w",
    ]


class WrongGradient(Toy):
    def gradient(self, x, prediction, y):
        return {"w": super().gradient(x, prediction, y)["w"] / 2}


def test_a_bug_shows_in_its_own_link_and_in_no_other():
    verdicts = {
        link.name: run(link_check(link.name), torch=WrongGradient).verdict for link in LINKS
    }
    assert verdicts == {
        "predict": Verdict.AGREE,
        "gradient": Verdict.DIVERGE,
        "apply": Verdict.AGREE,
    }
    assert run(sequence(), torch=WrongGradient).verdict is Verdict.DIVERGE


def test_inputs_are_the_reference_s_own_rounded_to_the_dtype_of_the_run():
    seen = {"float32": [], "float64": []}

    class Spy(Toy):
        def gradient(self, x, prediction, y):
            seen[self.dtype.name].append((np.asarray(x), np.asarray(prediction), np.asarray(y)))
            return super().gradient(x, prediction, y)

    run(link_check("gradient", at=(3,)), "float32", torch=Spy, reference=Spy)
    [ours] = seen["float32"]
    assert all(array.dtype == np.float32 for array in ours)
    # the reference also makes the updates before, and the inputs themselves in full precision
    assert [r for r in seen["float64"] if all(map(np.array_equal, ours, r))]


def test_a_link_that_changes_what_it_must_not_is_reported():
    class Careless(Toy):
        def predict(self, x):
            self.step += 1
            return super().predict(x)

    report = run(link_check("predict"), torch=Careless)
    assert report.verdict is Verdict.DIVERGE
    assert "update/00/state/step" in [entry.name for entry in report.failing]


def test_a_state_that_is_not_loaded_whole_is_reported():
    class Forgetful(Toy):
        def load_state(self, state):
            super().load_state({**state, "slot/m": np.zeros(SIZE)})

    report = run(link_check("predict", at=(3,)), torch=Forgetful)
    assert [entry.name for entry in report.failing] == ["update/03/state/slot/m"]


def test_a_gradient_that_does_not_exist_is_a_difference():
    class Disconnected(Toy):
        def gradient(self, x, prediction, y):
            return {"w": None}

    report = run(link_check("gradient"), torch=Disconnected)
    assert report.verdict is Verdict.DIVERGE
    assert [p.kind for p in report.problems] == ["unmatched", "unmatched"]


def test_outputs_that_were_not_declared_are_refused():
    class Talkative(Toy):
        def predict(self, x):
            return super().predict(x), 0.0

    with pytest.raises(InvalidInput, match="predict returned 2 values, declared 1: prediction"):
        run(link_check("predict"), torch=Talkative)


def test_a_link_that_the_chain_lacks_is_refused():
    with pytest.raises(InvalidInput, match="0 links of that name"):
        run(link_check("forecast"))


def test_there_must_be_a_reference():
    siblings = sides_of()
    del siblings["reference"]
    with pytest.raises(InvalidInput, match="the reference, which is missing"):
        run_check(COMPONENT, link_check("predict"), siblings, dtype="float64")


# constants: with torch, whose autograd tells whether a gradient flows


@pytest.mark.parametrize(("stops", "verdict"), [(True, "agree"), (False, "diverge")])
def test_a_constant_must_get_no_gradient(stops, verdict):
    torch = pytest.importorskip("torch")
    link = Link("loss", ("x", "y"), ("loss",), constants=("y",))

    class Loss(Toy):
        def loss(self, x, y):
            return np.asarray(np.mean((x.sum(axis=1) - y) ** 2))

    class TorchLoss(Toy):
        def loss(self, x, y):
            return torch.mean((x.sum(dim=1) - (y.detach() if stops else y)) ** 2)

    report = run(link_check("loss", links=(link,), at=(0,)), torch=TorchLoss, reference=Loss)
    assert report.verdict.value == verdict
    assert names(report) == ["update/00/loss", "update/00/no_gradient/y"]
    if not stops:
        assert report.first_divergence.name == "update/00/no_gradient/y"


# sequences


@pytest.mark.parametrize("kind", [UpdateSequenceCheck, LockstepCheck])
def test_everything_is_compared_after_every_update(kind):
    report = run(sequence(kind, updates=2))
    assert report.verdict is Verdict.AGREE
    after = ["prediction", "state/slot/m", "state/param/w", "state/rate", "state/step"]
    assert names(report) == [f"update/{k:02d}/{name}" for k in range(2) for name in after]


class Drifting(Toy):
    """Each update leaves an error that no single one is judged by."""

    def apply(self, gradients):
        super().apply(gradients)
        self.w += 4e-13


def test_errors_pile_up_in_sequence_and_not_in_lockstep():
    composed = run(sequence(updates=20), torch=Drifting)
    lockstep = run(sequence(LockstepCheck, updates=20), torch=Drifting)
    assert composed.verdict is Verdict.DIVERGE
    assert lockstep.verdict is Verdict.AGREE
    assert lockstep.worst.max_abs < 5e-13 < composed.worst.max_abs


def test_the_first_update_that_parts_is_named():
    class Late(Toy):
        def update(self, batch, draws):
            made = super().update(batch, draws)
            self.w += 1e-3 * (self.step == 7)
            return made

    assert run(sequence(), torch=Late).first_divergence.name == "update/06/state/param/w"


class DeafToChanges(Toy):
    def set_rate(self, value):
        pass


@pytest.mark.parametrize("kind", [UpdateSequenceCheck, LockstepCheck])
def test_changes_are_made_before_their_update(kind):
    changes = {2: lambda learner: learner.set_rate(0.03)}
    assert run(sequence(kind, changes=changes)).verdict is Verdict.AGREE
    report = run(sequence(kind, changes=changes), torch=DeafToChanges)
    assert report.first_divergence.name == "update/02/state/param/w"


# graphs


class TracesAlways(Toy):
    def update(self, batch, draws):
        if self.variant != "eager":
            self.traces += 1
        return super().update(batch, draws)


class NeverTraces(Toy):
    def update(self, batch, draws):
        made = super().update(batch, draws)
        self.traces = 0
        return made


class TracesInEager(Toy):
    def update(self, batch, draws):
        self.traces += self.step == 0
        return super().update(batch, draws)


@pytest.mark.parametrize(
    ("learner", "mode", "found"),
    [
        (Toy, "compiled", []),
        (TracesAlways, "compiled", [("torch", 21, 1)]),
        (NeverTraces, "compiled", [("torch", 0, 1)]),
        (TracesInEager, "eager", [("torch", 1, 0)]),
    ],
)
def test_graphs_are_counted(learner, mode, found):
    report = run(sequence(), mode=mode, torch=learner)
    assert [
        (p.details["side"], p.details["traces"], p.details["declared"])
        for p in report.problems
        if p.kind == "retrace"
    ] == found
    assert report.passed is (found == [])


def test_a_learner_that_is_used_again_traces_nothing():
    siblings = sides_of()
    for _ in range(2):
        report = run_check(COMPONENT, sequence(), siblings, dtype="float64", mode="compiled")
        assert report.passed


def test_a_compiled_side_is_compared_with_itself_in_eager_mode():
    class WrongWhenCompiled(Toy):
        def predict(self, x):
            return super().predict(x) * (1.0 if self.variant == "eager" else 1.01)

    report = run(sequence(), mode="compiled", torch=WrongWhenCompiled)
    assert report.sides == ("torch", "reference", "torch-eager")
    first = report.entries[0]
    assert not first.pair("torch", "torch-eager").agrees
    assert first.pair("torch-eager", "reference").agrees


def test_too_few_examples_are_refused():
    with pytest.raises(InvalidInput, match="1 examples, asked for 20"):
        run(sequence(examples=lambda rng, count: examples(rng, 1)))
