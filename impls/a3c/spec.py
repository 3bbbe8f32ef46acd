"""Asynchronous advantage actor-critic (A3C), with the interleaving as data.

W workers share one set of parameters and one optimizer. Each goes round and round:

    pull        theta_w <- theta                                        under the lock
    roll out    T steps of its own environment, actions from theta_w
    gradients   of A2C's loss on this rollout, at theta_w, clipped
    push        one step of the shared optimizer on theta with them     under the lock

While a worker rolls out, others push: its gradients are those of parameters that the shared ones
have left behind. In which order pulls and pushes happened is all that chance decides. It is
recorded as an array of (worker, event), and the same order again gives the same parameters, with
one thread or many, in either framework.

Source: Mnih et al. 2016, "Asynchronous methods for deep reinforcement learning", algorithm S3;
RMSprop with shared statistics, section 4.

Differs from the paper: (1) updates are applied under a lock, not Hogwild, so that an order exists;
(2) a rollout goes on behind the end of an episode, in the next one, so that all have T steps;
(3) one gradient of the mean over the steps, not a sum; (4) what A2C's contract lists.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from impls.a3c.cases import CHECKS
from impls.a3c.config import PULL, PUSH, A3CConfig, initial_state, require_order
from impls.a3c.faults import ERRORS, MUTANTS
from parity.component import Component

__all__ = [
    "A3C",
    "COMPONENT",
    "PULL",
    "PUSH",
    "A3CConfig",
    "initial_state",
    "make_learner",
    "require_order",
    "worker_seeds",
]


class A3C:
    """The shared parameters, their optimizer, and what each worker has pulled.

    State: that of A2C, for what is shared, and ``pulled/<worker>/trunk/l1/kernel``, ...: the
    parameters that each worker holds.

    Args:
        config: the constants.
        dtype: ``float32`` or ``float64``: of networks, rollouts and everything between.
        device: ``cpu``, ``cuda`` or ``cuda:N``.
        variant: how gradients are computed: ``eager``; ``compile`` (torch); ``function`` or ``xla``
            (TensorFlow). One graph per worker.

    Attributes:
        shared: A2C's learner with the shared parameters and the one optimizer.
        workers: A2C's learners with the parameters that each worker holds; their optimizers rest.
        lock: held while parameters are pulled or pushed; several threads may call what is below.
        traces: graphs made so far.

    Raises:
        ConfigError: the side has no such variant.
        DtypeError: another dtype.
    """

    def __init__(
        self, config: A3CConfig, *, dtype: str, device: str = "cpu", variant: str = "eager"
    ) -> None: ...

    @property
    def order(self) -> np.ndarray:
        """All events since this learner was made, int64 [E, 2]: worker, event (0 pull, 1 push)."""
        ...

    def pull(self, worker: Any) -> None:
        """``theta_w <- theta``, all at once, under the lock.

        Raises:
            ConfigError: there is no such worker.
        """
        ...

    def gradients(
        self,
        worker: Any,
        observation: Any,
        action: Any,
        reward: Any,
        next_observation: Any,
        terminated: Any,
        truncated: Any,
    ) -> tuple[Any, dict[str, Any]]:
        """Loss and clipped gradients of a rollout, at the parameters that the worker holds.

        Needs no lock: no other thread touches them.

        Args:
            worker: number in [0, workers).
            observation, action, reward, next_observation, terminated, truncated: [T, B, ...] as in
                A2C's ``update``; B is 1 where a worker has one environment.

        Raises:
            ConfigError: there is no such worker.
        """
        ...

    def push(self, worker: Any, gradients: Mapping[str, Any]) -> None:
        """One step of the shared optimizer on the shared parameters, under the lock.

        Args:
            worker: whose gradients they are; it is recorded and changes nothing else.
            gradients: parameter name -> gradient.

        Raises:
            ConfigError: there is no such worker.
        """
        ...

    def update(self, batch: Mapping[str, Any], draws: Mapping[str, Any]) -> dict[str, Any]:
        """One event.

        Args:
            batch: a rollout [T, B, ...] as in A2C's ``update``; a pull does not look at its values.
            draws: ``worker`` and ``event``, int64 scalars.

        Returns:
            ``loss`` of a push; nothing of a pull.

        Raises:
            ConfigError: no such worker or event.
            ShapeError, DtypeError, NonFiniteError: as A2C's ``update``.
        """
        ...

    def act(self, observation: Any, draws: Mapping[str, Any]) -> dict[str, Any]:
        """Actions drawn from the shared policy; a worker's are those of ``workers[w].act``."""
        ...

    def greedy(self, observation: Any) -> Any:
        """The most probable action of the shared policy."""
        ...

    def state(self) -> dict[str, np.ndarray]:
        """Copies of the whole state: canonical name -> array, kernels ``[in, out]``."""
        ...

    def load_state(self, state: Mapping[str, np.ndarray]) -> None:
        """Continue from what :meth:`state` of any sibling returned, in place.

        Raises:
            ConfigError: a name is missing or unknown.
            ShapeError: a shape differs; nothing has been changed then.
        """
        ...

    def set_learning_rate(self, group: str, value: float) -> None:
        """Change the shared optimizer's learning rate; the group is ``actor_critic``."""
        ...

    def to_canonical(self, values: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """Copies of tensors shaped like parameters, kernels ``[in, out]``."""
        ...

    def from_canonical(self, values: Mapping[str, np.ndarray]) -> dict[str, Any]:
        """New tensors of the learner's dtype and the framework's own layout."""
        ...


def make_learner(
    config: A3CConfig, *, dtype: str, device: str = "cpu", variant: str = "eager"
) -> Any:
    """An :class:`A3C` that starts from ``initial_state(config, default_rng(0))``.

    The same numbers on every side; real training loads a state of its own seed.
    """
    ...


def worker_seeds(*, seed: int, workers: int) -> Any:
    """A seed for each worker's environment and actions, all of them different streams.

    ``seed_w`` = the environment seed of ``Stream(seed).fold_in(w)``.

    Returns:
        [workers], int64, each below 2^31.
    """
    ...


COMPONENT = Component(
    name="a3c",
    contract=(A3C, make_learner, worker_seeds),
    checks=CHECKS,
    mutants=MUTANTS,
    errors=ERRORS,
)
