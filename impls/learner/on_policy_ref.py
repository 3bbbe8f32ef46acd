"""The parts of a reference learner from rollouts: network, policy and their gradients by hand.

Written out here once more, independent of the components of these names, so that a whole update
has an oracle that shares no code with the pair. Gradients are sums over rows of a weight of each
row times the gradient of its log-probability, entropy and value.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from impls.learner.config import Layouts, require_variant
from impls.learner.numpy_ref import Array, Arrays, Learner
from impls.learner.on_policy import (
    GROUP,
    OnPolicyConfig,
    initial_state,
    require_rollout,
    rollout_layout,
)
from impls.networks.config import require_dtype

RMS_DECAY = 0.99
BETA1, BETA2 = 0.9, 0.999


class OnPolicyLearner(Learner):
    """One network, one optimizer, batches ``[T, B, ...]``."""

    def __init__(self, config: OnPolicyConfig, *, dtype: str, variant: str, **fields: str) -> None:
        require_dtype(dtype)
        require_variant("reference", variant)
        super().__init__(initial_state(config, np.random.default_rng(0)))
        self.config: Any = config
        fields = {n: "float64" if kind.startswith("float") else kind for n, kind in fields.items()}
        self._layouts: Layouts = {"batch": rollout_layout(config, "float64", **fields), "draws": {}}

    def act(self, observation: Array, draws: Mapping[str, Array]) -> Arrays:
        made = self.forward(observation)
        if self.config.continuous:
            action = made["mean"] + np.exp(made["log_std"]) * draws["noise"]
            return self._acted(made, action, {"clipped_action": self._clipped(action)})
        sums = np.cumsum(np.exp(made["logits"] - made["logits"].max(axis=1, keepdims=True)), axis=1)
        thresholds = draws["uniform"] * sums[:, -1]
        action = np.array([int(np.argmax(s > t)) for s, t in zip(sums, thresholds, strict=True)])
        return self._acted(made, action, {})

    def _acted(self, made: Arrays, action: Array, others: Arrays) -> Arrays:
        kept = "log_prob" in self._layouts["batch"]
        log_prob = {"log_prob": self.log_prob(made, action)} if kept else {}
        return {"action": action, **others, **log_prob}

    def greedy(self, observation: Array) -> Array:
        made = self.forward(observation)
        if self.config.continuous:
            return self._clipped(made["mean"])
        return np.asarray(np.argmax(made["logits"], axis=1))

    def forward(self, x: Array) -> Arrays:
        """Logits, or mean and log_std; the value; and what the layers made on the way."""
        c, p = self.config.network, self.under(f"param/{GROUP}")
        made: Arrays = {}
        for trunk in c.trunks:
            h = made[f"{trunk}/h0"] = x
            for i in range(1, len(c.hidden_sizes) + 1):
                h = np.tanh(h @ p[f"{trunk}/l{i}/kernel"] + p[f"{trunk}/l{i}/bias"])
                made[f"{trunk}/h{i}"] = h
        last = len(c.hidden_sizes)
        features = made[f"{c.trunks[0]}/h{last}"]
        policy = features @ p[f"{c.policy_head}/kernel"] + p[f"{c.policy_head}/bias"]
        made |= {"mean": policy, "log_std": p["log_std"]} if c.continuous else {"logits": policy}
        if c.value:
            features = made[f"{c.trunks[-1]}/h{last}"]
            made["value"] = (features @ p["value/kernel"] + p["value/bias"])[:, 0]
        return made

    def log_prob(self, made: Arrays, action: Array) -> Array:
        """Of the actions, under the policy that the network has made."""
        if self.config.continuous:
            variance = np.exp(2.0 * made["log_std"])
            exponent = -((action - made["mean"]) ** 2) / (2.0 * variance)
            return np.asarray(np.sum(exponent - 0.5 * np.log(2.0 * np.pi * variance), axis=1))
        return np.asarray(_log_p(made["logits"])[np.arange(len(action)), action])

    def entropy(self, made: Arrays) -> Array:
        """Mean over the rows."""
        if self.config.continuous:
            return np.asarray(np.sum(0.5 * np.log(2 * np.pi * np.e) + made["log_std"]))
        log_p = _log_p(made["logits"])
        return np.asarray(np.mean(np.sum(-np.exp(log_p) * log_p, axis=1)))

    def backward(
        self,
        made: Arrays,
        action: Array,
        *,
        of_log_prob: Array,
        of_entropy: Array,
        of_value: Array | None = None,
    ) -> Arrays:
        """Gradients by name, from the gradient of the loss for each row's three results."""
        c, last = self.config.network, len(self.config.hidden_sizes)
        found: Arrays = {}
        of_policy = self._of_policy(made, action, of_log_prob, of_entropy, found)
        of_trunk = {c.trunks[0]: self._head(made, c.trunks[0], c.policy_head, of_policy, found)}
        if of_value is not None:
            trunk = c.trunks[-1]
            reaching = self._head(made, trunk, "value", of_value[:, None], found)
            of_trunk[trunk] = of_trunk.get(trunk, 0.0) + reaching
        for trunk, dh in of_trunk.items():
            for i in range(last, 0, -1):
                dz = dh * (1.0 - made[f"{trunk}/h{i}"] ** 2)
                found[f"{trunk}/l{i}/kernel"] = made[f"{trunk}/h{i - 1}"].T @ dz
                found[f"{trunk}/l{i}/bias"] = dz.sum(axis=0)
                dh = dz @ self.values[f"param/{GROUP}/{trunk}/l{i}/kernel"].T
        return {name: found[name] for name in self.under(f"param/{GROUP}")}

    def state_values(self, observation: Array) -> Array:
        """[T, B, obs] -> [T, B]."""
        return np.stack([self.forward(row)["value"] for row in observation])

    def clip(self, gradients: Arrays) -> tuple[Arrays, Array]:  # type: ignore[override]
        return super().clip(gradients, self.config.max_gradient_norm)

    def apply(self, gradients: Arrays) -> None:
        """One step of Adam, or of RMSprop."""
        epsilon = self.config.optimizer_epsilon
        slots, alpha = self.under(f"slot/{GROUP}"), float(self.values[f"learning_rate/{GROUP}"])
        slots["step"] += 1
        t = int(slots["step"])
        for name, parameter in self.under(f"param/{GROUP}").items():
            g, v = gradients[name], slots[f"v/{name}"]
            if self.config.optimizer == "rmsprop":
                v[...] = RMS_DECAY * v + (1 - RMS_DECAY) * g**2
                parameter -= alpha * g / (np.sqrt(v) + epsilon)
                continue
            m = slots[f"m/{name}"]
            m[...] = BETA1 * m + (1 - BETA1) * g
            v[...] = BETA2 * v + (1 - BETA2) * g**2
            m_hat, v_hat = m / (1 - BETA1**t), v / (1 - BETA2**t)
            parameter -= alpha * m_hat / (np.sqrt(v_hat) + epsilon)

    def require_batch(self, batch: Mapping[str, Array], draws: Mapping[str, Array]) -> None:
        """Refuse a rollout and draws that do not fit."""
        self.require(batch, draws, self._layouts, self.config.check_finite, require_rollout)

    def _of_policy(
        self, made: Arrays, action: Array, of_log_prob: Array, of_entropy: Array, found: Arrays
    ) -> Array:
        """Gradient of the logits or the mean; that of ``log_std`` is put into ``found``."""
        if self.config.continuous:
            z = (action - made["mean"]) / np.exp(made["log_std"])
            spread = of_log_prob[:, None] * (z**2 - 1.0) + of_entropy[:, None]
            found["log_std"] = spread.sum(axis=0)
            return np.asarray(of_log_prob[:, None] * z / np.exp(made["log_std"]))
        log_p = _log_p(made["logits"])
        p = np.exp(log_p)
        chosen = np.arange(p.shape[1]) == action[:, None]
        surprise = log_p - np.sum(p * log_p, axis=1, keepdims=True)
        return np.asarray(of_log_prob[:, None] * (chosen - p) - of_entropy[:, None] * p * surprise)

    def _head(self, made: Arrays, trunk: str, head: str, dy: Array, found: Arrays) -> Array:
        """Notes the gradients of a head; returns that of the features below it."""
        features = made[f"{trunk}/h{len(self.config.hidden_sizes)}"]
        found[f"{head}/kernel"], found[f"{head}/bias"] = features.T @ dy, dy.sum(axis=0)
        return np.asarray(dy @ self.values[f"param/{GROUP}/{head}/kernel"].T)

    def _clipped(self, action: Array) -> Array:
        bounds = np.array(self.config.bounds)
        return np.asarray(np.minimum(np.maximum(action, -bounds), bounds))


def flat(array: Array) -> Array:
    """[T, B, ...] -> [T * B, ...], row t * B + b."""
    return np.array([array[t, b] for t in range(array.shape[0]) for b in range(array.shape[1])])


def _log_p(logits: Array) -> Array:
    shifted = logits - logits.max(axis=1, keepdims=True)
    return np.asarray(shifted - np.log(np.sum(np.exp(shifted), axis=1, keepdims=True)))
