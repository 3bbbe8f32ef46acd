"""Training whose every random number comes from one seed, inside of the compiled step.

Nothing random is handed in: the update derives its keys from ``Stream(seed)`` and from the number
of the update, which is a tensor of the graph, and so both frameworks draw the same batch and the
same noise, compiled or not:

    key(purpose, t) = Stream(seed).split(purpose).fold_in(t)
    indices_t       = key("replay", t)        slots of the filled part of the buffer
    noise_t         = key("smoothing", t)     standard normals for target smoothing
    update          = td3 on storage[indices_t] with noise_t
    action_k        = actor(s) + exploration noise of key("exploration", k)
    weights         = Stream(seed).split("weights").split(name), each by its own name
    environment i   = Stream(seed).split("environment").fold_in(i).fold_in(collection)

Updates t and calls of ``act`` k are counted from 1. Two purposes never share a key: what is drawn
for one would then depend on the other.

Source: Fujimoto et al. 2018 (TD3); Salmon et al. 2011 (counter-based draws).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from impls.stream_training.cases import CHECKS
from impls.stream_training.config import StreamTrainingConfig, initial_state
from impls.stream_training.faults import ERRORS, MUTANTS
from parity.component import Component

__all__ = [
    "COMPONENT",
    "StreamTrainer",
    "StreamTrainingConfig",
    "dropout_network",
    "epsilon_greedy_action",
    "initial_state",
    "make_trainer",
    "minibatches",
    "replay_indices",
    "sample_action",
]


class StreamTrainer:
    """TD3 with its replay buffer, exploration and environments, all drawn from one seed.

    Args:
        config: the constants.
        seed: a whole number of 64 bits; everything random follows from it.
        dtype: ``float32`` or ``float64``: of networks, buffer and everything between.
        device: ``cpu``, ``cuda`` or ``cuda:N``.
        variant: how :meth:`update` runs: ``eager``; ``compile`` (torch); ``function`` or ``xla``
            (TensorFlow). Either makes two graphs, of the critics' part and of the delayed part,
            which sees the same batch. :meth:`act` always runs eagerly.

    Raises:
        InvalidInput: the seed is no such number.
        ConfigError: the side has no such variant.
        DtypeError: another dtype.
        ShapeError: the environment's sizes are not those of the configuration.

    Conventions: state entries are those of ``td3`` and ``buffer/<field>``, ``buffer/size``,
    ``buffer/cursor``, ``trainer/acts`` (calls of :meth:`act`), ``trainer/collections`` and
    ``trainer/ou`` (the process, [environments, act]). The stream is no state: it never advances.
    """

    def __init__(
        self,
        config: StreamTrainingConfig,
        *,
        seed: int,
        dtype: str,
        device: str = "cpu",
        variant: str = "eager",
    ) -> None: ...

    def reset(self) -> None:
        """Go back to what the seed gives, in place: weights drawn, one collection in the buffer."""
        ...

    def collect(self) -> None:
        """Add transitions of a random policy: ``rows`` from each environment in turn.

        Environment i of collection n, both counted from 0, is seeded with
        ``Stream(seed).split("environment").fold_in(i).fold_in(n).environment_seed()``.
        """
        ...

    def update(self) -> dict[str, Any]:
        """One update of TD3 on a batch that it draws itself. Takes nothing.

        Returns:
            ``indices`` [B] int64 and ``noise`` [B, act] as drawn, and what ``td3`` returns.
        """
        ...

    def act(self, observation: Any) -> Any:
        """Actions with exploration noise, within bounds.

        gaussian:  ``clip(actor(s) + sigma * max_action * n_k, -max_action, max_action)``
        ou:        ``x_k = x_{k-1} - theta x_{k-1} dt + sigma * max_action * sqrt(dt) * n_k``,
                   ``clip(actor(s) + x_k, -max_action, max_action)``

        Args:
            observation: [environments, obs] of the trainer's dtype.

        Returns:
            [environments, act].

        Raises:
            ShapeError, DtypeError: the observation is not that.
        """
        ...

    def end_episodes(self, ended: Any) -> None:
        """Start the process afresh, at 0, where an episode ended.

        Args:
            ended: [environments], bool.

        Raises:
            ShapeError, DtypeError: ``ended`` is not that.
        """
        ...

    def state(self) -> dict[str, np.ndarray]:
        """Copies of the whole state: canonical name -> array."""
        ...

    def load_state(self, state: Mapping[str, np.ndarray]) -> None:
        """Continue from what :meth:`state` of any sibling returned, in place.

        Raises:
            ConfigError: a name is missing or unknown.
            ShapeError: a shape differs; nothing has been changed then.
        """
        ...

    def set_learning_rate(self, group: str, value: float) -> None:
        """See ``Learner``; groups ``critic`` and ``actor``."""
        ...


def make_trainer(
    config: StreamTrainingConfig,
    *,
    seed: int,
    dtype: str,
    device: str = "cpu",
    variant: str = "eager",
) -> Any:
    """A :class:`StreamTrainer` after its first collection.

    Equal on every side, to the last bit in float64, for equal seeds.
    """
    ...


def replay_indices(
    step: Any, size: Any, *, seed: int, count: int, capacity: int, replace: bool
) -> Any:
    """Slots of the filled part of a buffer, for one update.

    With replacement unbiased integers of [0, size); without, the ``count`` smallest of one float64
    uniform per slot, of which those of empty slots are left out.

    Args:
        step: update, a scalar integer tensor.
        size: filled slots, a scalar integer tensor: it may grow without another graph.
        seed: of the stream; its child ``replay`` is drawn from.
        count: B, at least 1.
        capacity: slots; drawn for in full, so that the shapes do not depend on ``size``.
        replace: whether a slot can be drawn twice.

    Returns:
        [B], int64, in [0, size).

    Raises:
        EmptyBufferError: size is 0, or below ``count`` without replacement (eager calls only).
        ConfigError: count is below 1 or above ``capacity``, without replacement.
    """
    ...


def minibatches(step: Any, *, seed: int, rows: int, size: int) -> Any:
    """Rows of the minibatches of one epoch: a permutation, cut into equal parts.

    Args:
        step: epoch, a scalar integer tensor.
        seed: of the stream; its child ``minibatches`` is drawn from.
        rows: of the data.
        size: of a minibatch; what is left over at the end is dropped.

    Returns:
        [rows // size, size], int64; no row twice.

    Raises:
        ConfigError: size is not in [1, rows].
    """
    ...


def epsilon_greedy_action(q: Any, step: Any, *, seed: int, epsilon: float) -> Any:
    """``argmax q`` or, with probability epsilon, a uniformly random action.

    Whether and what to explore have keys of their own: ``epsilon-greedy``, folded with the step
    and split into ``uniform`` and ``action``.

    Args:
        q: [B, A], float.
        step: scalar integer tensor.
        seed: of the stream.
        epsilon: in [0, 1].

    Returns:
        [B], int64.

    Raises:
        ShapeError: q is not a matrix.
        ConfigError: epsilon is out of its range.
    """
    ...


def sample_action(logits: Any, step: Any, *, seed: int) -> Any:
    """Actions of a categorical policy with probabilities ``softmax(logits)``.

    Args:
        logits: [B, A], float.
        step: scalar integer tensor.
        seed: of the stream; its child ``policy`` is drawn from.

    Returns:
        [B], int64.

    Raises:
        InvalidInput: logits are not floating.
    """
    ...


def dropout_network(
    x: Any,
    kernel1: Any,
    bias1: Any,
    kernel2: Any,
    bias2: Any,
    step: Any,
    *,
    seed: int,
    rate: float,
) -> Any:
    """``(relu(x W1 + b1) * mask) W2 + b2`` with a mask of inverted dropout, as in training.

    Source: Srivastava et al. 2014, "Dropout".

    Args:
        x: [B, in], float.
        kernel1, bias1: [in, hidden], [hidden].
        kernel2, bias2: [hidden, out], [out].
        step: scalar integer tensor.
        seed: of the stream; its child ``dropout`` is drawn from.
        rate: probability of a zero, in [0, 1).

    Returns:
        [B, out].

    Raises:
        ShapeError: the weights do not fit.
        InvalidInput: the rate is out of its range.
    """
    ...


COMPONENT = Component(
    name="stream_training",
    contract=(
        StreamTrainer,
        make_trainer,
        replay_indices,
        minibatches,
        epsilon_greedy_action,
        sample_action,
        dropout_network,
    ),
    checks=CHECKS,
    mutants=MUTANTS,
    errors=ERRORS,
)
