"""Uniform experience replay: a ring buffer of transitions, and index sampling from given draws.

Transition number k since creation (counted from 0) lies in slot ``k % capacity``: the oldest one is
overwritten first. Slots, not ages, are what indices mean, on every side alike.

A transition is a mapping with these fields; a batch of them has a leading axis N:

    observation       [*observation_shape]  dtype          before the action
    action            [*action_shape]       action_dtype   as given to the environment
    reward            []                    dtype
    next_observation  [*observation_shape]  dtype          after the action; the final one of an
                                                           episode, not the first of the next
    terminated        []                    bool           the task ended: no value follows
    truncated         []                    bool           a time limit cut: bootstrapping goes on
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from impls.replay_buffer.cases import CHECKS
from impls.replay_buffer.config import FIELDS, ReplayBufferConfig
from impls.replay_buffer.faults import ERRORS, MUTANTS
from parity.component import Component

__all__ = [
    "COMPONENT",
    "FIELDS",
    "ReplayBuffer",
    "ReplayBufferConfig",
    "indices_without_replacement",
    "sample_indices",
]


class ReplayBuffer:
    """A ring buffer of transitions in preallocated storage.

        add:     storage[cursor] <- transition; cursor <- (cursor + 1) mod capacity;
                 size <- min(size + 1, capacity)
        sample:  storage[indices]

    Source: Lin 1992, "Self-improving reactive agents based on reinforcement learning, planning and
    teaching"; Mnih et al. 2015, section Methods (the last N transitions, sampled uniformly).

    Args:
        config: the sizes.
        dtype: floating dtype of observations, rewards and continuous actions.
        device: where the storage lies.

    Conventions: ``size`` and the cursor are tensors or variables, never Python numbers, so that
    compiled code follows them. Checks that need values (finite rows, index ranges, emptiness) are
    made in eager calls; inside a compiled step TensorFlow's are graph assertions
    (``InvalidArgumentError``, none under XLA) and torch's are left out.
    """

    def __init__(self, config: ReplayBufferConfig, *, dtype: str, device: str = "cpu") -> None: ...

    @property
    def size(self) -> Any:
        """Number of transitions held: a scalar int64 tensor in [0, capacity]."""
        ...

    def add(self, transition: Mapping[str, Any]) -> None:
        """Store one transition, over the oldest one if the buffer is full.

        Args:
            transition: field name -> array, tensor or Python number without batch axis.

        Raises:
            ShapeError, DtypeError, NonFiniteError: as :meth:`add_batch`.
        """
        ...

    def add_batch(self, transitions: Mapping[str, Any]) -> None:
        """Store N transitions, row by row in order: exactly as N calls of :meth:`add`.

        Of a batch larger than the buffer the last ``capacity`` rows stay. N = 0 changes nothing.

        Args:
            transitions: field name -> array or tensor [N, ...] of the field's dtype.

        Raises:
            ShapeError: a field is missing or unknown, has another shape than the configuration
                says, or the fields differ in N.
            DtypeError: a field has another dtype than the buffer's; nothing is cast.
            NonFiniteError: NaN or infinity; the message names field and index. Nothing is stored.
        """
        ...

    def sample(self, indices: Any) -> dict[str, Any]:
        """Copies of the transitions in the given slots, in the order of ``indices``.

        Args:
            indices: [N], int64 or int32, each in [0, size).

        Returns:
            Field name -> tensor [N, ...].

        Raises:
            EmptyBufferError: nothing has been added.
            IndexError: an index is negative or at least ``size``.
            ShapeError, DtypeError: ``indices`` is not a vector of integers.
        """
        ...

    def state(self) -> dict[str, Any]:
        """A copy of everything: the fields [capacity, ...], ``size`` and ``cursor``, int64 []."""
        ...

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Continue from what :meth:`state` of any sibling returned (as arrays or own tensors).

        Raises:
            ConfigError: a name is missing or unknown, or size and cursor fit no ring.
            ShapeError, DtypeError: an entry differs from this buffer's. Nothing is changed then.
        """
        ...


def sample_indices(uniforms: Any, size: Any) -> Any:
    """Indices with replacement: ``min(floor(u * size), size - 1)``.

    Source: inversion of the discrete uniform distribution.

    Args:
        uniforms: [N] in [0, 1), floating. 1 itself, which some float32 generators round up to,
            gives the last index.
        size: number of filled slots: a Python integer, or a scalar integer tensor.

    Returns:
        [N], int64, in [0, size).

    Raises:
        EmptyBufferError: size is 0.
        ShapeError, DtypeError: uniforms is not a vector of floating values.

    Conventions: computed in float64 whatever the dtype of the draws, because a product rounded in
    float32 can cross into the next index.
    """
    ...


def indices_without_replacement(keys: Any, count: int, size: Any) -> Any:
    """Distinct indices: the places of the ``count`` smallest of the first ``size`` keys, ascending.

    With independent uniform keys every subset, and every order, is equally likely.

    Source: Efraimidis & Spirakis 2006, "Weighted random sampling with a reservoir", equal weights.

    Args:
        keys: [capacity], floating, finite; one draw per slot. Keys of empty slots are ignored.
        count: how many; a Python integer of at least 1.
        size: number of filled slots: a Python integer, or a scalar integer tensor.

    Returns:
        [count], int64, distinct, in [0, size); among equal keys the lower index comes first.

    Raises:
        EmptyBufferError: count is larger than size.
        ConfigError: count is below 1 or larger than the number of keys.
        ShapeError, DtypeError: keys is not a vector of floating values.
    """
    ...


COMPONENT = Component(
    name="replay_buffer",
    contract=(ReplayBuffer, sample_indices, indices_without_replacement),
    checks=CHECKS,
    mutants=MUTANTS,
    errors=ERRORS,
)
