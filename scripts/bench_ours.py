"""Contenders: this project's learners, and the floor under them.

A contender answers four questions about one case: what the first call costs, what a number of
updates costs, how often it compiles anew, and how much memory it took.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np

from impls.training.train import make_loop
from scripts.bench_cases import BATCHES, STORED, Case, draws, rollout, transitions

Clock = Callable[[Callable[[], Any]], float]
"""Seconds that a call takes, with everything that it has set going."""


def wall(call: Callable[[], Any]) -> float:
    """By the clock on the wall."""
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def processor(call: Callable[[], Any]) -> float:
    """What the process itself used, all threads: with one thread, good on a busy machine too."""
    started = time.process_time()
    call()
    return time.process_time() - started


def imported(name: str) -> Any:
    """A package, or None where it is not installed."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        return None


class Contender:
    """What is timed. ``can`` names what it can be asked to run.

    ``update``: updates of batches that are there as tensors. ``train``: updates as training makes
    them, which draw their batch from the buffer (or take a rollout's arrays) and its noise first.
    ``loop``: environment steps of the whole training.
    """

    can: tuple[str, ...] = ()

    def prepare(self, case: Case) -> dict[str, Any]:
        """Make everything, and run each update once; facts about that."""
        raise NotImplementedError

    def run(self, what: str, count: int) -> float:
        """Seconds for so many updates or environment steps."""
        raise NotImplementedError

    def retraces(self) -> dict[str, int]:
        """Compilations caused by a ragged batch, by the old one, and by another learning rate."""
        return {}


class Floor(Contender):
    """The matrix products alone."""

    can = ("update",)

    def __init__(self, device: str, clock: Clock) -> None:
        self.device, self.clock = device, clock

    def prepare(self, case: Case) -> dict[str, Any]:
        from scripts.bench_floor import make_floor

        self.period = case.period
        self.call, nets = make_floor(case, self.device)
        first = self.clock(self.call)
        flops = sum(net.flops for net in nets) // case.period
        return {"first_call": first, "flops": flops}

    def run(self, what: str, count: int) -> float:
        def all_() -> None:
            for _ in range(count // self.period):
                self.call()

        return self.clock(all_)


class Ours(Contender):
    """One framework in one variant."""

    can = ("update", "train", "loop")

    def __init__(
        self, framework: str, variant: str, device: str, threads: int, clock: Clock
    ) -> None:
        self.framework, self.variant, self.device = framework, variant, device
        self.threads, self.clock = threads, clock
        if device != "cpu":
            self.can = ("update",)  # the training loop keeps its buffer in the CPU's memory

    def prepare(self, case: Case) -> dict[str, Any]:
        self.case = case
        self.loop = self._loop(case)
        self.side, self.learner = self.loop.side, self.loop.side.learner
        config = self.loop.config
        initial = importlib.import_module(f"impls.{case.algorithm}.config").initial_state
        self.learner.load_state(initial(config, np.random.default_rng(0)))
        self.arrays = [self._arrays(i) for i in range(BATCHES)]
        self.inputs = [(self._tensors(b), self._tensors(d)) for b, d in self.arrays]
        losses: list[float] = []

        def first() -> None:
            for i in range(case.period):
                losses.append(self._loss(self._updated(self.inputs[i])))

        seconds = self.clock(first)
        for i in range(case.period, 2 * case.period):
            losses.append(self._loss(self._updated(self.inputs[i])))
        parameters = sum(v.size for n, v in self.learner.state().items() if n.startswith("param/"))
        return {
            "first_call": seconds,
            "traces": int(self.learner.traces),
            "losses": losses,
            "parameters": parameters,
        }

    def run(self, what: str, count: int) -> float:
        return self.clock(lambda: getattr(self, f"_{what}")(count))

    def _update(self, count: int) -> None:
        for i in range(count):
            made = self._updated(self.inputs[i % BATCHES])
        self._loss(made)

    def _updated(self, inputs: Any) -> Mapping[str, Any]:
        """One update; a worker of A3C pulls before it, and pushes as its end."""
        if self.case.workers:
            self.learner.pull(0)
        made: Mapping[str, Any] = self.learner.update(*inputs)
        return made

    def _train(self, count: int) -> None:
        for i in range(count):
            made = self._drawn_update(i)
        self._loss(made)

    def _drawn_update(self, i: int) -> Mapping[str, Any]:
        """As the training loop does it: from the buffer, or from a rollout's arrays."""
        if not self.case.on_policy:
            made: Mapping[str, Any] = self.loop._update()
            return made
        batch, drawn = self.arrays[i % BATCHES]
        if "permutation" in drawn:
            drawn = {"permutation": self.loop._permutations(batch["reward"].size)}
        if self.case.workers:
            self.learner.pull(0)
        return self.loop.learn(self.side.tensors(batch), self.side.tensors(drawn))

    def _loop(self, case_or_count: Any) -> Any:
        if isinstance(case_or_count, Case):
            return self._make_loop(case_or_count)
        end = self.loop.step + case_or_count
        while self.loop.step < end:
            self.loop.advance()
        return None

    def _make_loop(self, case: Case) -> Any:
        """The training loop, with this variant of the learner and a buffer that is filled."""
        asked = case.asked(self.framework, self.variant != "eager", self.threads)
        loop = make_loop(asked, impl=self._impl(case))
        if case.on_policy:
            return loop
        state = loop.state()
        rows = transitions(loop.config, STORED)
        state |= {f"buffer/{name}": value for name, value in rows.items()}
        state["buffer/size"] = np.array(STORED, np.int64)
        state["buffer/cursor"] = np.array(0, np.int64)
        state["loop/counts"] = np.array([STORED, 0, 0], np.int64)  # past the random first steps
        loop.load_state(state)
        return loop

    def _impl(self, case: Case) -> Any:
        """The sibling, which makes learners of this variant on this device."""
        real = importlib.import_module(f"impls.{case.algorithm}.{self.framework}_impl")

        def make_learner(config: Any, *, dtype: str, variant: str) -> Any:
            return real.make_learner(config, dtype=dtype, device=self.device, variant=self.variant)

        return SimpleNamespace(**{**vars(real), "make_learner": make_learner})

    def retraces(self) -> dict[str, int]:
        counts = {}

        def counted(name: str, call: Callable[[], Any]) -> None:
            before = self.learner.traces
            call()
            counts[name] = int(self.learner.traces - before)

        def period(inputs: Any) -> None:
            for _ in range(self.case.period):
                self._updated(inputs)

        counted("ragged", lambda: period(self._ragged()))
        counted("again", lambda: period(self._ragged()))
        counted("back", lambda: period(self.inputs[0]))
        for group in getattr(self.learner, "shared", self.learner).optimizers:
            self.learner.set_learning_rate(group, 1e-4)
        counted("learning_rate", lambda: period(self.inputs[0]))
        return counts

    def _ragged(self) -> Any:
        """A last batch that is not full: rows, environments or steps of a rollout are missing."""
        batch, drawn = self.arrays[0]
        axis = 1 if self.case.on_policy and not self.case.workers else 0
        keep = batch["reward"].shape[axis] - (4 if self.case.on_policy else 13)
        at = (*[slice(None)] * axis, slice(keep))
        batch = {name: value[at] for name, value in batch.items()}
        if "permutation" in drawn:
            rows = batch["reward"].size
            orders = [np.random.default_rng(e).permutation(rows) for e in range(self._epochs())]
            drawn = {"permutation": np.stack(orders)}
        elif not self.case.workers:
            drawn = {name: value[at] for name, value in drawn.items()}
        return self._tensors(batch), self._tensors(drawn)

    def _epochs(self) -> int:
        return int(self.loop.config.epochs)

    def _arrays(self, seed: int) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        config, loop = self.loop.config, self.loop.loop
        if self.case.on_policy:
            batch = rollout(self.case, config, loop, seed)
        else:
            batch = transitions(config, loop.batch_size, seed)
        return batch, draws(self.case, config, batch)

    def _tensors(self, arrays: Mapping[str, np.ndarray]) -> dict[str, Any]:
        from scripts.bench_cuda import moved

        return moved(self.side.tensors(arrays), self.framework, self.device)

    @staticmethod
    def _loss(made: Mapping[str, Any]) -> float:
        """The loss as a number: waits for the update."""
        value = made["critic_loss"] if "critic_loss" in made else made["loss"]
        return float(np.asarray(value.detach().cpu() if hasattr(value, "detach") else value).mean())
