"""Bugs planted in DDPG, and misuses that it refuses."""

from __future__ import annotations

from impls.ddpg.config import DDPGConfig
from impls.learner.faults import batch_errors, learner_errors
from parity.component import Mutant

MUTANTS = (
    Mutant(
        id="online-actor-in-target",
        find='return self.targets["actor"](next_observation)',
        replace='return self.networks["actor"](next_observation)',
        caught_by="chain.target_action",
        because="the next action comes from the online actor: no target network for the policy",
        case="lunar-lander",
    ),
    Mutant(
        id="online-critic-in-target",
        find='v_t = _q(self.targets["critic"], next_observation, next_action)',
        replace='v_t = _q(self.networks["critic"], next_observation, next_action)',
        caught_by="chain.target",
        because="the target is computed with the network that it trains",
        sibling="torch",
        case="half-cheetah",
    ),
    Mutant(
        id="no-terminated-mask",
        find="returns.discounts(terminated, truncated,",
        replace="returns.discounts(tf.zeros_like(terminated), truncated,",
        caught_by="chain.target",
        because="bootstraps beyond the end of the task",
        case="lunar-lander",
    ),
    Mutant(
        id="time-limit-as-end",
        find="terminated, truncated, self.config.gamma",
        replace="terminated | truncated, truncated, self.config.gamma",
        caught_by="chain.target",
        because="done = terminated or truncated: a time limit ends the sum of rewards",
        sibling="torch",
        case="pendulum",
    ),
    Mutant(
        id="gamma-squared",
        find="terminated, truncated, self.config.gamma,",
        replace="terminated, truncated, self.config.gamma**2,",
        caught_by="chain.target",
        because="gamma of a two-step return on a one-step target",
        case="half-cheetah",
    ),
    Mutant(
        id="td-error-of-target-network",
        find='return losses.td_error(_q(self.networks["critic"], observation, action), target)',
        replace='return losses.td_error(_q(self.targets["critic"], observation, action), target)',
        caught_by="chain.td_error",
        because="priorities from the target network's estimate, which lags behind",
        case="pendulum",
    ),
    Mutant(
        id="missing-stop-gradient",
        find='return losses.mse_loss(_q(self.networks["critic"], observation, action), target)',
        replace='q_tm1 = _q(self.networks["critic"], observation, action)\n'
        "        return tf.reduce_mean(tf.square(target - q_tm1))",
        caught_by="chain.critic_loss",
        because="the loss written out in place, and its stop-gradient forgotten: right value",
        case="pendulum",
    ),
    Mutant(
        id="half-squared-error",
        find="return losses.mse_loss(",
        replace="return 0.5 * losses.mse_loss(",
        caught_by="chain.critic_gradients",
        because="the factor of one half that some define and others do not",
        sibling="torch",
        case="half-cheetah",
    ),
    Mutant(
        id="clipped-one-by-one",
        find="return optimizers.clip_by_global_norm(gradients, self.config.max_gradient_norm)",
        replace="made = {n: tf.clip_by_norm(g, self.config.max_gradient_norm)"
        " for n, g in gradients.items()}\n"
        "        return made, tf.linalg.global_norm(list(gradients.values()))",
        caught_by="chain.clip_critic",
        because="each tensor is clipped by its own norm, not all by their joint norm",
        case="pendulum",
    ),
    Mutant(
        id="actor-not-clipped",
        find="def clip_actor(self, gradients: Mapping[str, Tensor]) -> tuple[Tensors, Tensor]:\n"
        "        return self._clip(gradients)",
        replace="def clip_actor(self, gradients: Mapping[str, Tensor]) -> tuple[Tensors, Tensor]:\n"
        "        return dict(gradients), self._clip(gradients)[1]",
        caught_by="chain.clip_actor",
        because="the norm is logged, the gradients pass as they are",
        sibling="torch",
        case="one-row",
    ),
    Mutant(
        id="decay-forgotten",
        find="AdamConfig(config.critic_learning_rate, weight_decay=config.critic_weight_decay)",
        replace="AdamConfig(config.critic_learning_rate)",
        caught_by="chain.apply_critic",
        because="no L2 term on the critic",
        case="half-cheetah",
    ),
    Mutant(
        id="decay-of-the-actor-too",
        find="AdamConfig(config.actor_learning_rate)",
        replace="critic",
        caught_by="chain.apply_actor",
        because="one optimizer configuration for both networks: the actor decays as well",
        case="half-cheetah",
    ),
    Mutant(
        id="actor-loss-sign",
        find="return losses.dpg_actor_loss(",
        replace="return -losses.dpg_actor_loss(",
        caught_by="chain.actor_loss",
        because="minimises the value",
        case="pendulum",
    ),
    Mutant(
        id="actor-loss-on-stored-actions",
        find='action = self.networks["actor"](observation)',
        replace='action = tf.stop_gradient(self.networks["actor"](observation))\n'
        '        action = self.networks["actor"](observation) * 0.0 + action',
        caught_by="chain.actor_gradients",
        because="no gradient through the action: right loss, and an actor that does not learn",
        case="half-cheetah",
    ),
    Mutant(
        id="gradients-of-the-wrong-network",
        find='return loss, self.gradients(tape, loss, "actor")',
        replace='return loss, self.gradients(tape, loss, "critic")',
        caught_by="chain.actor_gradients",
        because="the tape is asked for the critic's variables in the actor's step",
        case="half-cheetah",
    ),
    Mutant(
        id="tau-swapped",
        find='self.update_target("critic", self.config.tau)',
        replace='self.update_target("critic", 1.0 - self.config.tau)',
        caught_by="chain.update_targets",
        because="the target takes all but tau of the online network",
        case="pendulum",
    ),
    Mutant(
        id="actor-target-never-moves",
        find='\n        self.update_target("actor", self.config.tau)',
        replace="",
        caught_by="chain.update_targets",
        because="only the critic's target network is updated",
        sibling="torch",
        case="pendulum",
    ),
    Mutant(
        id="actor-through-old-critic",
        find="        self.apply_critic(gradients)\n"
        '        made["actor_loss"], gradients = self.actor_gradients(observation)',
        replace="        critic_gradients = gradients\n"
        '        made["actor_loss"], gradients = self.actor_gradients(observation)\n'
        "        self.apply_critic(critic_gradients)",
        caught_by="lockstep.update",
        because="both gradients first, both steps after: the actor sees the critic before its step",
        case="lunar-lander",
    ),
    Mutant(
        id="targets-before-the-actor",
        find="        self.apply_actor(gradients)\n        self.update_targets()",
        replace="        self.update_targets()\n        self.apply_actor(gradients)",
        caught_by="composed.update",
        because="the target actor follows the actor of one update ago",
        case="pendulum",
    ),
    Mutant(
        id="target-after-the-update",
        find="        next_action = self.target_action(next_observation)\n"
        '        made["target"] = self.target(reward,',
        replace="        self.update_targets()\n"
        "        next_action = self.target_action(next_observation)\n"
        '        made["target"] = self.target(reward,',
        caught_by="composed.update",
        because="target networks move before the target is computed, and after the update again",
        case="square",
    ),
    Mutant(
        id="epsilon-of-keras",
        find="config.actor, AdamConfig(config.actor_learning_rate))",
        replace="config.actor, AdamConfig(config.actor_learning_rate, epsilon=1e-7))",
        caught_by="chain.apply_actor",
        because="Adam's epsilon left at the default of Keras, 1e-7 for 1e-8",
        case="half-cheetah",
    ),
    Mutant(
        id="traced-anew-in-every-update",
        find="made: Tensors = self._compiled_chain(*(",
        replace="made: Tensors = self.compiled(self._chain)(*(",
        caught_by="lockstep.update",
        because="tf.function is made inside of the update: it traces each time",
        case="pendulum-xla",
        mode="xla",
        dtype="float32",
    ),
    Mutant(
        id="reference-masks-nothing",
        find="np.where(terminated, reward, reward + self.config.gamma * q)",
        replace="reward + self.config.gamma * q",
        caught_by="chain.target",
        because="the reference itself forgets the mask",
        sibling="reference",
        case="lunar-lander",
    ),
)

CONFIG = DDPGConfig(3, 2, (0.5, 2.0), (11, 7))

ERRORS = batch_errors(CONFIG, noise=False) + learner_errors(
    CONFIG,
    {
        "gamma-above-one": ({"gamma": 1.01}, r"gamma=1.01: must be in \[0, 1\]"),
        "negative-tau": ({"tau": -0.1}, "tau=-0.1"),
        "no-hidden-units": ({"hidden_sizes": (11, 0)}, r"hidden_sizes\[1\]=0"),
        "negative-decay": ({"critic_weight_decay": -1.0}, "critic_weight_decay=-1.0"),
        "infinite-learning-rate": (
            {"actor_learning_rate": float("inf")},
            "actor_learning_rate=inf",
        ),
        "clip-at-zero": ({"max_gradient_norm": 0.0}, "max_gradient_norm=0.0"),
        "too-many-bounds": ({"max_action": (1.0, 1.0, 1.0)}, "max_action=.* has 3 entries"),
    },
)
