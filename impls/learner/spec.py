"""What every learner has besides the links of its update.

A learner holds networks, their target networks and one optimizer per network. Everything that an
update reads or changes is its state, by canonical names (``g`` is ``actor``, ``critic``, ...):

    slot/g/step, slot/g/m/l1/kernel, ...   optimizer slots
    param/g/l1/kernel, ...                 parameters; kernels [in, out]
    target/g/l1/kernel, ...                parameters of the target network
    learning_rate/g                        float64 scalar
    step                                   int64 scalar: updates made

An update is a chain of links, each of them a method: what a link needs comes as its arguments and
from the state, what it makes is returned or written to the state. Networks are called in eager mode
by the links; ``update`` runs the whole chain, compiled if the learner was made so.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np


class Learner:
    """State, variants and learning rates; not for use by itself.

    Attributes:
        traces: graphs that compiling ``update`` has made so far; 0 in an eager learner.

    Conventions: what an update decides in Python (how many updates were made, hence whether this
    one is delayed) it decides outside of the compiled graphs; what changes between updates (step
    counts, learning rates, slots) is a tensor. So nothing is frozen by tracing, and ``update``
    itself must not be traced.
    """

    traces: int

    def state(self) -> dict[str, np.ndarray]:
        """Copies of the whole state: canonical name -> array, kernels ``[in, out]``."""
        ...

    def load_state(self, state: Mapping[str, np.ndarray]) -> None:
        """Continue from what :meth:`state` of any sibling returned, in place.

        Args:
            state: every name; floating values are rounded to the learner's dtype.

        Raises:
            ConfigError: a name is missing or unknown.
            ShapeError: a shape differs; nothing has been changed then.
        """
        ...

    def set_learning_rate(self, group: str, value: float) -> None:
        """Change the learning rate of one network; compiled updates follow.

        Args:
            group: ``actor``, ``critic``, ...
            value: finite, at least 0.

        Raises:
            ConfigError: the group is unknown or the value out of range.
        """
        ...

    def to_canonical(self, values: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """Copies of tensors shaped like parameters, kernels ``[in, out]``."""
        ...

    def from_canonical(self, values: Mapping[str, np.ndarray]) -> dict[str, Any]:
        """New tensors of the learner's dtype and the framework's own layout."""
        ...


class OnPolicyLearner(Learner):
    """A learner from rollouts: one network, ``actor_critic``, and no target network.

    Besides the links of its update it acts. Neither method below changes anything, holds Python
    state or waits for the device, so that a caller may wrap them in ``tf.function``.
    """

    def act(self, observation: Any, draws: Mapping[str, Any]) -> dict[str, Any]:
        """Draw actions from the policy.

        Args:
            observation: [B, obs], of the learner's dtype.
            draws: ``uniform`` [B], in [0, 1), of a discrete policy; ``noise`` [B, act], standard
                normal, of a continuous one.

        Returns:
            ``action``: [B] int64, or [B, act] as drawn: what belongs into the batch; ``log_prob``
            [B] of it, where the batch holds that too; of a continuous policy ``clipped_action``
            [B, act], the same within ``max_action``: what belongs into the environment.

        Conventions: the log-probability is that of the action as drawn. Of a clipped one it would
        be another policy's, and the ratio of PPO would not start at 1.
        """
        ...

    def greedy(self, observation: Any) -> Any:
        """The most probable action: [B, obs] -> [B] int64, or [B, act] within ``max_action``."""
        ...

    def set_learning_rate(self, group: str, value: float) -> None:
        """See :class:`Learner`; the group is ``actor_critic``."""
        ...
