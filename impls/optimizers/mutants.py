"""Planted bugs: what goes wrong when an optimizer is ported, and the check that must see it."""

from __future__ import annotations

from parity.component import Mutant

_ADAM, _RMSPROP, _SGD = "optimizer.Adam", "optimizer.RMSprop", "optimizer.SGD"

MUTANTS = (
    Mutant(
        "adam-epsilon-inside-root",
        find="(tf.sqrt(v) / root_correction + c.epsilon)",
        replace="tf.sqrt(v / root_correction**2 + c.epsilon)",
        caught_by=_ADAM,
        because="epsilon was added under the root",
    ),
    Mutant(
        "adam-epsilon-before-correction",
        find="(tf.sqrt(v) / root_correction + c.epsilon)",
        replace="((tf.sqrt(v) + c.epsilon) / root_correction)",
        caught_by=_ADAM,
        case="defaults",
        because="Keras's form: epsilon joins the uncorrected root, so it shrinks with the step",
    ),
    Mutant(
        "adam-no-bias-correction",
        find="self._learning_rate / (1 - c.beta1**t)",
        replace="self._learning_rate",
        caught_by=_ADAM,
        because="the first moment is used uncorrected",
    ),
    Mutant(
        "adam-correction-one-off",
        find="tf.sqrt(1 - c.beta2**t)",
        replace="tf.sqrt(1 - c.beta2 ** (t + 1))",
        caught_by=_ADAM,
        because="the second correction counts the steps from 2",
    ),
    Mutant(
        "adam-betas-swapped",
        find='c.beta1 * slots["m"] + (1 - c.beta1) * g',
        replace='c.beta2 * slots["m"] + (1 - c.beta2) * g',
        caught_by=_ADAM,
        because="the first moment decays with beta2",
    ),
    Mutant(
        "adam-lerp-weight-swapped",
        find="torch._foreach_lerp_(m, gradients, 1 - c.beta1)",
        replace="torch._foreach_lerp_(m, gradients, c.beta1)",
        caught_by=_ADAM,
        sibling="torch",
        because="lerp's weight belongs to the new value; it was given the old one's",
    ),
    Mutant(
        "step-count-by-tracing",
        find="t = tf.cast(self._step, tf.float64)",
        replace='self.count = getattr(self, "count", 0) + 1; t = tf.constant(self.count, "double")',
        caught_by=_ADAM,
        case="learning-rate-changes",
        mode="xla",
        because="the bias correction counts with a Python number, which tracing freezes at 1",
    ),
    Mutant(
        "learning-rate-frozen",
        find="self._learning_rate.assign(_as(value, tf.float64))",
        replace="self._learning_rate = tf.constant(value, tf.float64)",
        caught_by=_ADAM,
        case="learning-rate-changes",
        mode="xla",
        because="the attribute is replaced instead of assigned: traced steps keep the old variable",
    ),
    Mutant(
        "learning-rate-through-float32",
        find="self._learning_rate.assign(_as(value, tf.float64))",
        replace="self._learning_rate.assign(tf.cast(value, tf.float64))",
        caught_by=_ADAM,
        case="learning-rate-changes",
        because="tf.cast makes a float32 tensor of a Python number before it casts it",
    ),
    Mutant(
        "step-not-counted",
        find="self._step.assign_add(1)",
        replace="_ = self._step + 1",
        caught_by=_ADAM,
        because="the sum is thrown away: the count stays at 0",
    ),
    Mutant(
        "gradients-by-position",
        find="gradients[name]) for name in self._names]",
        replace="gradients[name]) for name in gradients]",
        caught_by=_ADAM,
        case="by-name",
        because="gradients are matched by position, not by name",
    ),
    Mutant(
        "weight-decay-sign",
        find="[g + decay * p for",
        replace="[g - decay * p for",
        caught_by=_ADAM,
        case="clipped",
        because="weights grow instead of decaying",
    ),
    Mutant(
        "rmsprop-epsilon-inside-root",
        find="(tf.sqrt(variance) + c.epsilon)",
        replace="tf.sqrt(variance + c.epsilon)",
        caught_by=_RMSPROP,
        because="Keras's form: epsilon under the root",
    ),
    Mutant(
        "rmsprop-accumulator-starts-at-one",
        find="tf.zeros_like(p)",
        replace="tf.ones_like(p)",
        caught_by=_RMSPROP,
        case="defaults",
        because="the accumulator starts at 1, as in TensorFlow 1",
    ),
    Mutant(
        "rmsprop-learning-rate-in-buffer",
        find=(
            'slots["momentum"] + direction)\n'
            "        return self._scalar(self._learning_rate) * direction"
        ),
        replace=(
            'slots["momentum"] + self._scalar(self._learning_rate) * direction)\n'
            "        return direction"
        ),
        caught_by=_RMSPROP,
        case="momentum",
        because="Keras's form: the buffer holds updates, so a changed rate reaches it late",
    ),
    Mutant(
        "rmsprop-mean-of-magnitudes",
        find='slots["mean"] + (1 - c.decay) * g)',
        replace='slots["mean"] + (1 - c.decay) * tf.abs(g))',
        caught_by=_RMSPROP,
        case="centered",
        because="the mean that is subtracted is that of the magnitudes",
    ),
    Mutant(
        "sgd-first-step-dampened",
        find="1 - c.dampening * tf.cast(t > 1, tf.float64)",
        replace="tf.constant(1 - c.dampening, tf.float64)",
        caught_by=_SGD,
        case="dampening",
        because="the first gradient enters the buffer dampened like the others",
    ),
    Mutant(
        "sgd-momentum-as-average",
        find='c.momentum * slots["momentum"] + share * g',
        replace='c.momentum * slots["momentum"] + (1 - c.momentum) * share * g',
        caught_by=_SGD,
        case="momentum",
        because="the buffer is a running average, ten times too small",
    ),
    Mutant(
        "sgd-nesterov-buffer-only",
        find="direction = g + c.momentum * direction",
        replace="direction = c.momentum * direction",
        caught_by=_SGD,
        case="nesterov",
        because="the look-ahead leaves out the present gradient",
    ),
    Mutant(
        "clip-per-tensor",
        find="{name: g * scale for name, g in tensors.items()}",
        replace="{name: tf.clip_by_norm(g, max_norm) for name, g in tensors.items()}",
        caught_by=_SGD,
        case="clipped",
        because="each tensor is clipped by its own norm",
    ),
    Mutant(
        "clip-scales-up",
        find="tf.maximum(norm, tf.cast(max_norm, norm.dtype))",
        replace="norm",
        caught_by=_SGD,
        case="clipped",
        because="small gradients are scaled up to the bound",
    ),
    Mutant(
        "clip-adds-to-norm",
        find="max_norm / tf.maximum(norm,",
        replace="max_norm / tf.maximum(norm + 1e-6,",
        caught_by=_SGD,
        case="clipped",
        because="1e-6 is added to the norm, as torch's clip_grad_norm_ does",
    ),
    Mutant(
        "clip-norm-after",
        find="tf.math.is_finite(norm), scale, tf.constant(math.nan, norm.dtype))",
        replace="tf.math.is_finite(norm), scale, tf.constant(math.nan, norm.dtype)); norm *= scale",
        caught_by=_SGD,
        case="clipped",
        because="the norm that is returned is the one after clipping",
    ),
    Mutant(
        "reference-corrections-mixed",
        find="v_hat = v / (1 - c.beta2**t)",
        replace="v_hat = v / (1 - c.beta1**t)",
        caught_by=_ADAM,
        sibling="reference",
        because="the oracle itself is wrong: both frameworks agree against it",
    ),
)
