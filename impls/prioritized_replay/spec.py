"""Prioritized experience replay, proportional variant: a ring buffer and a sum tree.

Transitions, slots and the ring are those of :mod:`impls.replay_buffer`. Priorities, their sums and
what is searched in them are float64 whatever the dtype of the transitions: in float32 a running
difference from the root to a leaf of a large tree ends in the neighbour of the right slot.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from impls.prioritized_replay.cases import CHECKS
from impls.prioritized_replay.config import (
    PrioritizedReplayConfig,
    require_beta,
    require_priorities,
    require_vector,
)
from impls.prioritized_replay.faults import ERRORS, MUTANTS
from parity.component import Component

__all__ = [
    "COMPONENT",
    "PrioritizedReplay",
    "PrioritizedReplayConfig",
    "require_beta",
    "require_priorities",
    "require_vector",
]


class PrioritizedReplay:
    """A ring buffer whose slots are drawn in proportion to their priority.

        add:      p_slot = the highest p that any slot ever had, 1 at first
        update:   p_i = (|delta_i| + epsilon)^alpha
        draw:     P(i) = p_i / sum over k of p_k
        weights:  w_i = (size P(i))^-beta / max over all filled k of (size P(k))^-beta

    Source: Schaul et al. 2016, "Prioritized experience replay", section 3 and algorithm 1.

    Args:
        config: the sizes, alpha and epsilon.
        dtype: floating dtype of observations, rewards, continuous actions and weights.
        device: where storage and tree lie.

    Conventions: the largest weight is that of the whole buffer, not of the rows drawn; the highest
    priority is remembered after its transition is overwritten. Checks that need values are made as
    in ``ReplayBuffer``.
    """

    def __init__(
        self, config: PrioritizedReplayConfig, *, dtype: str, device: str = "cpu"
    ) -> None: ...

    @property
    def size(self) -> Any:
        """Number of transitions held: a scalar int64 tensor in [0, capacity]."""
        ...

    def add(self, transition: Mapping[str, Any]) -> None:
        """Store one transition with the highest priority; as ``ReplayBuffer.add`` otherwise."""
        ...

    def add_batch(self, transitions: Mapping[str, Any]) -> None:
        """Store N transitions with the highest priority; else as ``ReplayBuffer.add_batch``."""
        ...

    def draw(self, uniforms: Any) -> Any:
        """Slots in proportion to their priorities, one from each of N equal strata.

        Draw j is the slot i with ``p_0 + ... + p_{i-1} <= (j + u_j) / N sum(p) < p_0 + ... + p_i``.

        Source: Schaul et al. 2016, appendix B.2.1.

        Args:
            uniforms: [N] in [0, 1), floating. 1 itself, which some float32 generators round up to,
                begins the next stratum, and in the last one gives the last slot.

        Returns:
            [N], int64, in [0, size).

        Raises:
            EmptyBufferError: nothing has been added.
            ShapeError, DtypeError: ``uniforms`` is not a vector of floating values.
        """
        ...

    def weights(self, indices: Any, beta: Any) -> Any:
        """Importance weights of the given slots, at most 1.

        Args:
            indices: [N], int64 or int32, each in [0, size).
            beta: exponent in [0, 1], Python number or scalar tensor, which may be annealed without
                a new trace; 1 corrects fully.

        Returns:
            [N], of the buffer's dtype, computed in float64.

        Raises:
            ConfigError: ``beta`` is a number outside [0, 1].
            EmptyBufferError, IndexError, ShapeError, DtypeError: as :meth:`sample`.
        """
        ...

    def update_priorities(self, indices: Any, td_error: Any) -> None:
        """Set the priorities of the given slots, row by row: of rows for one slot the last counts.

        Args:
            indices: [N], int64 or int32, each in [0, size).
            td_error: [N], floating; the sign does not matter, and no gradient flows.

        Raises:
            NonFiniteError: NaN or infinity; the message names the index. Nothing is changed then.
            EmptyBufferError, IndexError, ShapeError, DtypeError: as :meth:`sample`.
        """
        ...

    def sample(self, indices: Any) -> dict[str, Any]:
        """Copies of the transitions in the given slots; as ``ReplayBuffer.sample``."""
        ...

    def state(self) -> dict[str, Any]:
        """A copy of everything.

        The fields [capacity, ...], ``size`` and ``cursor``, int64 []; ``priority``, float64
        [capacity], p of each slot, 0 where it is empty; ``max_priority``, float64 [].
        """
        ...

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Continue from what :meth:`state` of any sibling returned (as arrays or own tensors).

        Raises:
            ConfigError: a name is missing or unknown, size and cursor fit no ring, or the
                priorities do not fit the size or each other.
            ShapeError, DtypeError: an entry differs from this buffer's. Nothing is changed then.
        """
        ...


COMPONENT = Component(
    name="prioritized_replay",
    contract=(PrioritizedReplay,),
    checks=CHECKS,
    mutants=MUTANTS,
    errors=ERRORS,
)
