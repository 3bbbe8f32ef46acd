"""n-step replay: transitions over up to n steps, made from a stream of steps of B environments.

A step is a mapping with the fields of :mod:`impls.replay_buffer`, each with a leading axis B: one
row per environment, always in the same order. ``next_observation`` is what the environment
answered, also where the episode ends there; the observation after the reset stands in the next
step. What is stored has the same fields, and

    steps             []                    int64          m, the number of rewards in the sum

Row b of step t, counted from 0, is transition number ``t B + b``; number k lies in slot
``k % capacity``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from impls.n_step_replay.cases import CHECKS
from impls.n_step_replay.config import NStepReplayConfig, require_pending, require_window
from impls.n_step_replay.faults import ERRORS, MUTANTS
from parity.component import Component

__all__ = [
    "COMPONENT",
    "NStepReplay",
    "NStepReplayConfig",
    "n_step_transitions",
    "require_pending",
    "require_window",
]


class NStepReplay:
    """A ring buffer of n-step transitions.

        m = the first k with terminated_{t+k-1} or truncated_{t+k-1}, at most n
        R = sum over k < m of gamma^k r_{t+k}
        stored: (o_t, a_t, R, next_observation_{t+m-1}, terminated_{t+m-1}, truncated_{t+m-1}, m)

    The target of such a transition is ``R + gamma^m v(next_observation)``, without the second term
    where it terminated.

    Source: Sutton 1988; Hessel et al. 2018, "Rainbow", section "Multi-step learning".

    Args:
        config: the sizes, n, B and gamma.
        dtype: floating dtype of observations, rewards and continuous actions.
        device: where the storage lies.

    Conventions: a transition enters the buffer when the n steps from its own on are in, cut short
    or not, so that each step adds B rows, always in the order of the environments. The newest n - 1
    steps are therefore not sampled. ``size``, cursor and the count of steps are tensors, so that
    compiled code follows them. Checks that need values are made as in ``ReplayBuffer``.
    """

    def __init__(self, config: NStepReplayConfig, *, dtype: str, device: str = "cpu") -> None: ...

    @property
    def size(self) -> Any:
        """Number of transitions held: a scalar int64 tensor in [0, capacity]."""
        ...

    def add(self, step: Mapping[str, Any]) -> None:
        """Take in one step of all environments.

        Args:
            step: field name -> array or tensor [B, ...] of the field's dtype.

        Raises:
            ShapeError: a field is missing or unknown, or not of shape [B, ...].
            DtypeError: a field has another dtype than the buffer's; nothing is cast.
            NonFiniteError: NaN or infinity; the message names field and index. Nothing is taken in.
        """
        ...

    def add_batch(self, steps: Mapping[str, Any]) -> None:
        """Take in T steps, first to last: exactly as T calls of :meth:`add`.

        Args:
            steps: field name -> array or tensor [T, B, ...]; T must be known while tracing.

        Raises:
            ShapeError, DtypeError, NonFiniteError: as :meth:`add`.
        """
        ...

    def sample(self, indices: Any) -> dict[str, Any]:
        """Copies of the transitions in the given slots, in the order of ``indices``.

        Args:
            indices: [N], int64 or int32, each in [0, size).

        Returns:
            Field name -> tensor [N, ...], with ``steps`` [N] int64.

        Raises:
            EmptyBufferError: no transition is complete yet.
            IndexError: an index is negative or at least ``size``.
            ShapeError, DtypeError: ``indices`` is not a vector of integers.
        """
        ...

    def state(self) -> dict[str, Any]:
        """A copy of everything.

        The fields [capacity, ...], ``size`` and ``cursor``; the newest n steps, oldest first, as
        ``window/<field>`` [n, B, ...] (zeros where fewer have been); ``seen``, the number of steps
        ever taken in, int64 [].
        """
        ...

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Continue from what :meth:`state` of any sibling returned (as arrays or own tensors).

        Raises:
            ConfigError: a name is missing or unknown, size and cursor fit no ring, or so few steps
                cannot have made so many transitions.
            ShapeError, DtypeError: an entry differs from this buffer's. Nothing is changed then.
        """
        ...


def n_step_transitions(
    reward: Any, next_observation: Any, terminated: Any, truncated: Any, *, gamma: float
) -> dict[str, Any]:
    """What a window of n steps adds up to, for each of B environments.

    ``reward = sum over k < m of gamma^k reward[k]``, ``m`` the number of steps up to and with the
    first end of an episode, at most n; everything else is taken from step m - 1.

    Source: Hessel et al. 2018, section "Multi-step learning".

    Args:
        reward: [n, B], floating.
        next_observation: [n, B, ...], of the same dtype.
        terminated: [n, B], bool: the task ended.
        truncated: [n, B], bool: a time limit cut the episode.
        gamma: discount per step, in [0, 1].

    Returns:
        ``reward`` [B], ``next_observation`` [B, ...], ``terminated`` [B], ``truncated`` [B] and
        ``steps`` [B], int64 in [1, n].

    Raises:
        ShapeError, DtypeError: the fields do not fit each other.
        ConfigError: gamma is out of its range.
    """
    ...


COMPONENT = Component(
    name="n_step_replay",
    contract=(NStepReplay, n_step_transitions),
    checks=CHECKS,
    mutants=MUTANTS,
    errors=ERRORS,
)
