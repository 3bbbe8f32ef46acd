"""Workers that run for real, as threads or as processes, and the replay of their order.

Every worker has an environment and a seed of its own. What it does between a pull and its push
depends on the parameters that it pulled and on its own past alone, so the order of pulls and pushes
decides everything: :func:`replay` makes the same events happen again in one thread.

Threads share the learner and its lock. With processes (started by ``spawn``) the learner lives in
the parent, which answers one request at a time: that is the lock. A worker's process has a learner
of its own, and the two talk through pipes in raw bytes: parameters and gradients cross as the
float64 values of all names in sorted order, which holds those of float32 exactly.
"""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Mapping
from dataclasses import replace
from multiprocessing.connection import Connection, wait
from typing import Any

import numpy as np

from impls.a3c.collecting import Arrays, Plan
from impls.a3c.config import PULL, require_order

PULL_REQUEST, PUSH_REQUEST, END, FAILURE = b"p", b"g", b"e", b"x"


def replay(plan: Plan, order: Any, learner: Any = None) -> Any:
    """Make the events of an order happen again, one after the other; the learner afterwards.

    Args:
        plan: that of the run; its ``side`` may be another one, and ``rounds`` is not looked at.
        order: [E, 2], worker and event, as a learner recorded it.
        learner: one that is in the state in which the run began; None: a new one.

    Raises:
        ConfigError, ShapeError, DtypeError: the order is not legal; see ``require_order``.
    """
    events = require_order(order, plan.config.workers).tolist()
    learner = learner or plan.make_learner()
    collectors, gradients = plan.collectors(), {}
    try:
        for worker, event in events:
            if event == PULL:
                learner.pull(worker)
                gradients[worker] = collectors[worker].gradients(learner, worker)
            else:
                learner.push(worker, gradients.pop(worker))
    finally:
        for collector in collectors:
            collector.close()
    return learner


def run_threads(plan: Plan, learner: Any = None) -> Any:
    """Train with one thread per worker; the learner afterwards, whose ``order`` says what happened.

    Raises:
        RuntimeError: a worker failed; its own error is the cause. The others stop at once.
    """
    learner = learner or plan.make_learner()
    collectors = plan.collectors()
    failures: list[tuple[int, BaseException]] = []

    def work(worker: int) -> None:
        try:
            for _ in range(plan.rounds):
                if failures:
                    return
                learner.pull(worker)
                learner.push(worker, collectors[worker].gradients(learner, worker))
        except BaseException as error:
            failures.append((worker, error))

    threads = [threading.Thread(target=work, args=(w,)) for w in range(len(collectors))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for collector in collectors:
        collector.close()
    if failures:
        worker, error = failures[0]
        raise RuntimeError(f"worker {worker} failed: {error}") from error
    return learner


def run_processes(plan: Plan, learner: Any = None) -> Any:
    """Train with one process per worker; the learner afterwards.

    Raises:
        RuntimeError: a worker failed or its process died; the message says which. The others are
            ended.
    """
    learner = learner or plan.make_learner()
    context = multiprocessing.get_context("spawn")
    workers: dict[Connection, int] = {}
    processes = []
    try:
        for worker in range(plan.config.workers):
            here, there = context.Pipe()
            process = context.Process(target=_serve, args=(plan, worker, there), daemon=True)
            process.start()
            there.close()  # only the child holds it: its end shows here when the child dies
            processes.append(process)
            workers[here] = worker
        _answer(learner, workers)
    finally:
        for process in processes:
            if workers:
                process.terminate()
            process.join()
        for pipe in workers:
            pipe.close()
    return learner


def _answer(learner: Any, workers: dict[Connection, int]) -> None:
    """Answer requests, one at a time, until every worker has ended."""
    shapes = _shapes(learner)
    while workers:
        for pipe in wait(list(workers)):
            assert isinstance(pipe, Connection)
            worker = workers[pipe]
            try:
                message = pipe.recv_bytes()
            except EOFError:
                raise RuntimeError(f"worker {worker} failed: its process died") from None
            kind, content = message[:1], message[1:]
            if kind == PULL_REQUEST:
                learner.pull(worker)
                pipe.send_bytes(_packed(_held(learner, worker), shapes))
            elif kind == PUSH_REQUEST:
                learner.push(worker, learner.from_canonical(_unpacked(content, shapes)))
                pipe.send_bytes(PUSH_REQUEST)
            elif kind == END:
                del workers[pipe]
                pipe.close()
            else:
                raise RuntimeError(f"worker {worker} failed: {content.decode()}")


def _serve(plan: Plan, worker: int, pipe: Connection) -> None:
    """A worker's process: ask for parameters, roll out, hand in gradients."""
    try:
        learner = plan.impl.make_learner(replace(plan.config, workers=1), dtype=plan.dtype)
        shapes, collector = _shapes(learner), plan.collector(worker)
        for _ in range(plan.rounds):
            pipe.send_bytes(PULL_REQUEST)
            parameters = _unpacked(pipe.recv_bytes(), shapes)
            held = {f"pulled/0/{name}": value for name, value in parameters.items()}
            learner.load_state({**learner.state(), **held})
            gradients = learner.to_canonical(collector.gradients(learner, 0))
            pipe.send_bytes(PUSH_REQUEST + _packed(gradients, shapes))
            pipe.recv_bytes()
        pipe.send_bytes(END)
    except BaseException as error:
        pipe.send_bytes(FAILURE + f"{type(error).__name__}: {error}".encode())
        raise


def _held(learner: Any, worker: int) -> Arrays:
    start = f"pulled/{worker}/"
    return {n[len(start) :]: v for n, v in learner.state().items() if n.startswith(start)}


def _shapes(learner: Any) -> dict[str, tuple[int, ...]]:
    """Parameter name -> shape, in the order in which values cross a pipe."""
    return {name: value.shape for name, value in sorted(_held(learner, 0).items())}


def _packed(values: Mapping[str, np.ndarray], shapes: Mapping[str, tuple[int, ...]]) -> bytes:
    return np.concatenate([values[name].astype(np.float64).ravel() for name in shapes]).tobytes()


def _unpacked(content: bytes, shapes: Mapping[str, tuple[int, ...]]) -> Arrays:
    flat, found, start = np.frombuffer(content, np.float64), {}, 0
    for name, shape in shapes.items():
        stop = start + int(np.prod(shape))
        found[name] = flat[start:stop].reshape(shape).copy()
        start = stop
    return found
