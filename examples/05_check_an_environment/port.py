"""The environment of two trainings. In the port, returns are ten times as large."""

import gymnasium as gym


class Scaled(gym.RewardWrapper):
    """Rewards near 1."""

    def reward(self, reward):
        return 0.1 * reward


def torch_env():
    return Scaled(gym.make("Pendulum-v1", max_episode_steps=50))


def tf_env():
    return gym.make("Pendulum-v1", max_episode_steps=50)


def tf_env_fixed():
    return Scaled(gym.make("Pendulum-v1", max_episode_steps=50))
