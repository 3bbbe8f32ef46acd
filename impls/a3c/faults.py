"""Bugs planted in A3C, and misuses that it refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from impls.a3c.config import PUSH, A3CConfig
from impls.errors import ConfigError
from impls.learner.rollout_faults import Arrays, More, learner_errors, rollout_errors, update_case
from parity.component import ErrorCase, Mutant, Side

MUTANTS = (
    Mutant(
        id="a-lock-for-each-push",
        find="        with self.lock:\n            self.events.append((number, PUSH))",
        replace="        with threading.Lock():\n            self.events.append((number, PUSH))",
        caught_by="live.push",
        because="the lock is around the pull only: updates are lost",
    ),
    Mutant(
        id="unsynchronised",
        find="self.lock: Any = threading.Lock()",
        replace="self.lock: Any = threading.Semaphore(config.workers)",
        caught_by="live.push",
        because="every worker may enter at once: read, modify, write, and the other's is undone",
        sibling="torch",
    ),
    Mutant(
        id="stale-overwrite",
        find="            self.shared.apply(gradients)",
        replace="            for name, variable in self.shared.parameters[GROUP].items():\n"
        "                variable.assign(self.workers[number].parameters[GROUP][name])\n"
        "            self.shared.apply(gradients)",
        caught_by="chain.push",
        because="the worker writes back whole parameters: its stale ones and its own step",
        case="cart-pole",
    ),
    Mutant(
        id="stale-overwrite-after-the-step",
        find="            self.shared.apply(gradients)",
        replace="            held = self.workers[number].parameters[GROUP]\n"
        "            before = {n: p.detach().clone()"
        " for n, p in self.shared.parameters[GROUP].items()}\n"
        "            self.shared.apply(gradients)\n"
        "            with torch.no_grad():\n"
        "                for n, p in self.shared.parameters[GROUP].items():\n"
        "                    p.copy_(held[n] + p - before[n])",
        caught_by="composed.update",
        because="what others pushed since the pull is undone",
        sibling="torch",
        case="cart-pole",
    ),
    Mutant(
        id="statistics-of-each-worker",
        find="            self.shared.apply(gradients)",
        replace="            shared = self.shared.optimizers[GROUP]\n"
        "            own = self.workers[number].optimizers[GROUP]\n"
        "            shared.load_slots(own.slots())\n"
        "            self.shared.apply(gradients)\n"
        "            own.load_slots(shared.slots())",
        caught_by="composed.update",
        because="each worker has its own running averages of squared gradients",
        case="cart-pole",
    ),
    Mutant(
        id="no-pull",
        find="            variable.assign(self.shared.parameters[GROUP][name])",
        replace="            variable.assign(variable)",
        caught_by="chain.pull",
        because="workers keep the parameters that they started with",
        case="cart-pole",
    ),
    Mutant(
        id="biases-not-pulled",
        find="                    parameter.copy_(self.shared.parameters[GROUP][name])",
        replace="                    if parameter.ndim > 1:\n"
        "                        parameter.copy_(self.shared.parameters[GROUP][name])",
        caught_by="chain.pull",
        because="a part of the parameters stays behind",
        sibling="torch",
        case="adam",
    ),
    Mutant(
        id="everybody-pulls",
        find="            self._pulls[number]()",
        replace="            for pull in self._pulls:\n                pull()",
        caught_by="chain.pull",
        because="one pull moves what the others compute with",
        case="cart-pole",
    ),
    Mutant(
        id="gradients-at-the-shared-parameters",
        find="self._chains = [self._chain(worker) for worker in self.workers]",
        replace="self._chains = [self._chain(self.shared) for worker in self.workers]",
        caught_by="chain.gradients",
        because="the pull has no effect: gradients at what others have pushed since",
        case="cart-pole",
    ),
    Mutant(
        id="gradients-of-the-first-worker",
        find="        loss, gradients = self._chains[number](",
        replace="        loss, gradients = self._chains[0](",
        caught_by="composed.update",
        because="the local network of one worker is used by all",
        sibling="torch",
        case="cart-pole",
    ),
    Mutant(
        id="not-clipped",
        find="                gradients, _ = worker.clip(gradients)",
        replace="                worker.clip(gradients)",
        caught_by="chain.gradients",
        because="the clipped gradients are thrown away",
        case="cart-pole",
    ),
    Mutant(
        id="mean-over-workers",
        find="            self.shared.apply(gradients)",
        replace="            share = {n: g / len(self.workers) for n, g in gradients.items()}\n"
        "            self.shared.apply(share)",
        caught_by="chain.push",
        because="the gradients of one worker are taken for a sum over all",
        case="adam",
    ),
    Mutant(
        id="step-at-the-pull",
        find="            self.shared.step += 1\n            self.shared.apply(gradients)",
        replace="            self.shared.apply(gradients)",
        caught_by="lockstep.update",
        because="updates are not counted",
        sibling="torch",
    ),
    Mutant(
        id="one-seed-for-all",
        find="first = [stream.fold_in(worker).bits((1,))[0] for worker in range(workers)]",
        replace="first = [stream.fold_in(0).bits((1,))[0] for worker in range(workers)]",
        caught_by="function.worker_seeds",
        because="all environments run the same episodes",
    ),
    Mutant(
        id="seed-plus-worker",
        find="first = [stream.fold_in(worker).bits((1,))[0] for worker in range(workers)]",
        replace="first = [Stream(seed + worker).torch().bits((1,))[0]"
        " for worker in range(workers)]",
        caught_by="function.worker_seeds",
        because="worker 1 of one run is worker 0 of the next: runs share their episodes",
        sibling="torch",
    ),
)

CONFIG = A3CConfig(3, 2, hidden_sizes=(5,), workers=2)


def _draws(worker: int = 1, event: int = PUSH) -> More:
    return lambda: ({}, {"worker": np.array(worker), "event": np.array(event)})


def _nothing(batch: Arrays, draws: Arrays) -> None:
    """The rollout is in order; the draws are not."""


def _call(method: str, *arguments: Any) -> Callable[[Side], Any]:
    return lambda side: getattr(side.impl.make_learner(CONFIG, dtype=side.dtype), method)(
        *arguments
    )


ERRORS = (
    *rollout_errors(CONFIG, _draws()),
    *learner_errors(
        CONFIG,
        {
            "no-workers": ({"workers": 0}, "workers=0"),
            "workers-float": ({"workers": 2.0}, r"workers=2\.0"),
            "value-coefficient": ({"value_coefficient": -1.0}, r"value_coefficient=-1\.0"),
        },
    ),
    update_case(
        "no-such-worker",
        ConfigError,
        r"worker=2: must be in \[0, 2\)",
        _nothing,
        config=CONFIG,
        more=_draws(worker=2),
    ),
    update_case(
        "no-such-event",
        ConfigError,
        r"event=2: must be 0 \(pull\) or 1 \(push\)",
        _nothing,
        config=CONFIG,
        more=_draws(event=2),
    ),
    ErrorCase("pull-of-nobody", _call("pull", -1), ConfigError, "worker=-1"),
    ErrorCase("push-of-nobody", _call("push", 7, {}), ConfigError, "worker=7"),
    ErrorCase("rollout-of-nobody", _call("gradients", 3, *"abcdef"), ConfigError, "worker=3"),
)
