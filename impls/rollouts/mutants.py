"""Planted bugs of the rollouts, each caught by a named check."""

from __future__ import annotations

from parity.component import Mutant

_LABEL = "rollout.Collector"

MUTANTS = (
    Mutant(
        "seed-only-for-first-episode",
        find="self.environment.reset(seed=self.seed + self.episode)[0]",
        replace="self.environment.reset(seed=None if self.episode else self.seed)[0]",
        caught_by=_LABEL,
        case="pendulum-forced",
        because="the seed is passed to the first reset only",
    ),
    Mutant(
        "same-seed-each-episode",
        find="self.environment.reset(seed=self.seed + self.episode)[0]",
        replace="self.environment.reset(seed=self.seed)[0]",
        caught_by=_LABEL,
        case="cartpole-forced",
        because="every episode begins with the same seed, and so in the same state",
    ),
    Mutant(
        "episode-counted-after-reset",
        find="""            self.episode += 1
            self.observation = self._reset()""",
        replace="""            self.observation = self._reset()
            self.episode += 1""",
        caught_by=_LABEL,
        case="gym-cartpole-free",
        because="the counter moves after the reset, so the second episode repeats the first",
        sibling="torch",
    ),
    Mutant(
        "action-not-scaled",
        find="        return tf.squeeze(self.network(row[tf.newaxis]), 0)",
        replace="        return tf.tanh(self.network.through(row[tf.newaxis])[0])",
        caught_by=_LABEL,
        case="pendulum-no-noise",
        because="the squashed action is not multiplied by max_action",
    ),
    Mutant(
        "action-not-clipped",
        find="return tf.clip_by_value(action, -bound, bound)",
        replace="return action",
        caught_by=_LABEL,
        case="pendulum-forced",
        because="exploration noise pushes the action out of bounds and nothing brings it back",
    ),
    Mutant(
        "noise-not-scaled",
        find="output + self.config.sigma * bound * tf.constant(draw, self.dtype)",
        replace="output + self.config.sigma * tf.constant(draw, self.dtype)",
        caught_by=_LABEL,
        case="gym-pendulum-free",
        because="sigma is a share of max_action, taken here in the environment's unit",
    ),
    Mutant(
        "noise-added-twice",
        find="        output = self.output(observation)\n        if self.config.greedy:",
        replace="        output = self.output(observation)\n"
        "        if draw is not None:\n"
        "            output += self.config.sigma * self.network.max_action * draw\n"
        "        if self.config.greedy:",
        caught_by=_LABEL,
        case="half-cheetah-forced",
        because="the policy and its caller both add the exploration noise",
    ),
    Mutant(
        "action-rounded-to-float32",
        find="self.policy.act(self.observation, noise).numpy()",
        replace="self.policy.act(self.observation, noise).numpy().astype(np.float32)",
        caught_by=_LABEL,
        case="pendulum-free",
        because="the action space says float32, so a float64 action is cast on the way",
    ),
    Mutant(
        "argmin",
        find="tf.argmax(output, output_type=tf.int64)",
        replace="tf.argmin(output, output_type=tf.int64)",
        caught_by=_LABEL,
        case="cartpole-forced",
        because="the scores are taken for costs",
    ),
    Mutant(
        "truncated-as-terminated",
        find="following, terminated, truncated)",
        replace="following, terminated or truncated, truncated)",
        caught_by=_LABEL,
        case="pendulum-free",
        because="one flag for both ends: the value after a time limit is taken for zero",
    ),
    Mutant(
        "reset-observation-stored",
        find="        transition = Transition("
        "self.observation, action, reward, following, terminated, truncated)\n"
        "        self.observation = following\n"
        "        if terminated or truncated:\n"
        "            self.episode += 1\n"
        "            self.observation = self._reset()\n"
        "        return transition",
        replace="""        seen, self.observation = self.observation, following
        if terminated or truncated:
            self.episode += 1
            self.observation = self._reset()
        return Transition(seen, action, reward, self.observation, terminated, truncated)""",
        caught_by=_LABEL,
        case="lunar-lander-forced",
        because="the next episode's first observation is stored as this one's last",
    ),
    Mutant(
        "no-reset-after-truncation",
        find="        if terminated or truncated:",
        replace="        if terminated:",
        caught_by=_LABEL,
        case="half-cheetah-forced",
        because="only the end of the task resets the environment, so it runs past its limit",
    ),
    Mutant(
        "stale-observation",
        find="        self.observation = following\n",
        replace="",
        caught_by=_LABEL,
        case="pendulum-no-noise",
        because="the policy keeps seeing the episode's first observation",
    ),
    Mutant(
        "last-observation-kept",
        find="            self.observation = self._reset()",
        replace="            self._reset()",
        caught_by=_LABEL,
        case="cartpole-free",
        because="the environment is reset, but the policy still sees the last observation",
    ),
    Mutant(
        "no-seed",
        find="self.environment.reset(seed=self.seed + self.episode)[0]",
        replace="self.environment.reset()[0]",
        caught_by="environment.make_environment",
        case="cartpole",
        because="the environment is never seeded, as where a global seed is thought to do it",
    ),
    Mutant(
        "reward-clipped",
        find="self.observation, action, reward, following,",
        replace="self.observation, action, max(reward, -1.0), following,",
        caught_by="environment.make_environment",
        case="pendulum",
        because="a reward clip left over from another task",
    ),
)
