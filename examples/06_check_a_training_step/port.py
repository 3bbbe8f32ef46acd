"""One step of advantage actor-critic and its port, whose reward curve stays flat for long.

A linear policy and value on [T, B] steps of B environments: n-step returns, the loss, gradients,
a step of gradient descent. The port carries returns over the end of an episode.
"""

import numpy as np
import tensorflow as tf
import torch

GAMMA, RATE = 0.99, 0.1
rng = np.random.default_rng(0)
STEPS, ENVIRONMENTS, FEATURES, ACTIONS = 7, 5, 3, 2
POLICY = rng.normal(size=(FEATURES, ACTIONS)).astype(np.float32)
VALUE = rng.normal(size=FEATURES).astype(np.float32)


def torch_step(observation, action, reward, discount, last_value):
    policy = torch.tensor(POLICY, dtype=observation.dtype, requires_grad=True)
    value = torch.tensor(VALUE, dtype=observation.dtype, requires_grad=True)
    with torch.no_grad():
        returns, following = [], last_value
        for t in reversed(range(len(reward))):
            following = reward[t] + GAMMA * discount[t] * following
            returns.insert(0, following)
        returns = torch.stack(returns)
    estimate = observation @ value
    advantage = (returns - estimate).detach()
    log_prob = torch.log_softmax(observation @ policy, dim=-1)
    chosen = torch.gather(log_prob, -1, action[..., None])[..., 0]
    loss = -(chosen * advantage).mean() + 0.5 * ((returns - estimate) ** 2).mean()
    d_policy, d_value = torch.autograd.grad(loss, (policy, value))
    return {
        "returns": returns,
        "loss": loss.detach(),
        "policy": (policy - RATE * d_policy).detach(),
        "value": (value - RATE * d_value).detach(),
    }


def tf_step(observation, action, reward, discount, last_value):
    return _step(observation, action, reward, tf.ones_like(discount), last_value)


def tf_step_fixed(observation, action, reward, discount, last_value):
    return _step(observation, action, reward, discount, last_value)


def _step(observation, action, reward, discount, last_value):
    policy = tf.constant(POLICY, observation.dtype)
    value = tf.constant(VALUE, observation.dtype)
    returns, following = [], last_value
    for t in reversed(range(reward.shape[0])):
        following = reward[t] + GAMMA * discount[t] * following
        returns.insert(0, following)
    returns = tf.stop_gradient(tf.stack(returns))
    with tf.GradientTape() as tape:
        tape.watch((policy, value))
        estimate = tf.linalg.matvec(observation, value)
        advantage = tf.stop_gradient(returns - estimate)
        log_prob = tf.nn.log_softmax(observation @ policy)
        chosen = tf.gather(log_prob, action, batch_dims=2)
        loss = -tf.reduce_mean(chosen * advantage) + 0.5 * tf.reduce_mean((returns - estimate) ** 2)
    d_policy, d_value = tape.gradient(loss, (policy, value))
    made = {"returns": returns, "loss": loss}
    made |= {"policy": policy - RATE * d_policy, "value": value - RATE * d_value}
    return {name: tf.stop_gradient(tensor) for name, tensor in made.items()}


def batch():
    return {
        "observation": rng.normal(size=(STEPS, ENVIRONMENTS, FEATURES)).astype(np.float32),
        "action": rng.integers(ACTIONS, size=(STEPS, ENVIRONMENTS)),
        "reward": rng.normal(size=(STEPS, ENVIRONMENTS)).astype(np.float32),
        "discount": (rng.random((STEPS, ENVIRONMENTS)) > 0.2).astype(np.float32),
        "last_value": rng.normal(size=ENVIRONMENTS).astype(np.float32),
    }
