"""Optimizers: one definition of Adam, RMSprop, SGD and global-norm clipping for both frameworks.

The stock optimizers of the two frameworks share names, not formulas (see
:data:`~impls.optimizers.divergences.STOCK_DIVERGENCES` and ``docs/optimizers.md``). The definition
here is torch's: epsilon is added to the bias-corrected root, weight decay is L2 and joins the
gradient.

What every optimizer does in a step, in this order:

1. ``step <- step + 1``; the ``t`` of the equations is 1 in the first step.
2. ``g <- g + weight_decay * p`` (L2, coupled: the decay passes through the slots).
3. The slots, then the parameters, are updated in place.

Learning rate, step count and slots are state of the framework (0-dim tensors, variables), never
Python numbers, so a compiled step follows a change. Scalar factors (bias corrections) are computed
in float64 and rounded once to the parameters' dtype: ``1 - 0.999**t`` loses four digits in float32.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from impls.optimizers.cases import CHECKS, ERRORS
from impls.optimizers.config import AdamConfig, RMSpropConfig, SGDConfig
from impls.optimizers.divergences import STOCK_DIVERGENCES
from impls.optimizers.mutants import MUTANTS
from parity.component import Component

__all__ = [
    "COMPONENT",
    "SGD",
    "STOCK_DIVERGENCES",
    "Adam",
    "AdamConfig",
    "Optimizer",
    "RMSprop",
    "RMSpropConfig",
    "SGDConfig",
    "clip_by_global_norm",
]


class Optimizer:
    """What the three optimizers have in common; not for use by itself.

    Args:
        config: the constants.
        parameters: canonical name -> parameter (``nn.Parameter`` or tensor; ``tf.Variable`` or
            Keras variable; array), updated in place; floating, one dtype for all.

    Raises:
        ConfigError: ``parameters`` is empty.
        DtypeError: a parameter is not floating, or they don't share one dtype.
    """

    def __init__(self, config: Any, parameters: Mapping[str, Any]) -> None: ...

    def apply(self, gradients: Mapping[str, Any]) -> None:
        """One step, in place.

        Args:
            gradients: canonical name -> gradient with its parameter's shape and dtype; exactly the
                names of the parameters, in any order.

        Raises:
            ConfigError: a name is missing or unknown, or a gradient is None.
            ShapeError: a gradient's shape is not its parameter's.
            DtypeError: a gradient's dtype is not its parameter's.
        """

    def slots(self) -> dict[str, Any]:
        """``step`` (int64) and every slot by name: the live state of the framework, not copies."""

    def load_slots(self, slots: Mapping[str, Any]) -> None:
        """Overwrite every slot with arrays or tensors of exactly the names of :meth:`slots`.

        Raises:
            ConfigError: a name is missing or unknown.
            ShapeError: a shape differs.
        """

    @property
    def learning_rate(self) -> Any:
        """The current learning rate, a live float64 scalar of the framework."""

    def set_learning_rate(self, value: Any) -> None:
        """Change the learning rate; a compiled step follows it.

        Args:
            value: a number, finite and at least 0, or a scalar tensor whose range isn't checked.

        Raises:
            ConfigError: the number is out of range.
        """


class Adam(Optimizer):
    """Adam with bias correction and epsilon outside the root.

        m <- beta1 * m + (1 - beta1) * g,    m_hat = m / (1 - beta1^t)
        v <- beta2 * v + (1 - beta2) * g^2,  v_hat = v / (1 - beta2^t)
        p <- p - learning_rate * m_hat / (sqrt(v_hat) + epsilon)

    Source: Kingma & Ba 2015 (arXiv:1412.6980), algorithm 1.
    Slots: ``step``, ``m/<name>``, ``v/<name>``; all start at 0.
    """

    def __init__(self, config: AdamConfig, parameters: Mapping[str, Any]) -> None: ...


class RMSprop(Optimizer):
    """RMSprop with epsilon outside the root and an accumulator that starts at 0.

        v <- decay * v + (1 - decay) * g^2
        d  = g / (sqrt(v) + epsilon)
        p <- p - learning_rate * d                                          (momentum = 0)
        b <- momentum * b + d,  p <- p - learning_rate * b                  (momentum > 0)

    Centered: ``a <- decay * a + (1 - decay) * g``, and ``sqrt(v - a^2)`` in place of ``sqrt(v)``.

    Source: Tieleman & Hinton 2012, lecture 6.5; centered: Graves 2013 (arXiv:1308.0850), eq. 38-45,
    where epsilon stands inside the root.
    Slots: ``step``, ``v/<name>``; ``mean/<name>`` if centered; ``momentum/<name>`` if momentum > 0;
    all start at 0.
    Conventions: where ``v - a^2`` comes out below 0 by rounding, its root is NaN on every side.
    """

    def __init__(self, config: RMSpropConfig, parameters: Mapping[str, Any]) -> None: ...


class SGD(Optimizer):
    """Gradient descent whose momentum buffer holds gradients, not updates.

        p <- p - learning_rate * g                                          (momentum = 0)
        b <- momentum * b + (1 - dampening) * g;  in the first step  b <- g
        p <- p - learning_rate * b                                          (momentum > 0)
        p <- p - learning_rate * (g + momentum * b)                         (nesterov)

    Source: Sutskever et al. 2013, eq. 1-4, rearranged so that the learning rate stays outside the
    buffer: a changed learning rate scales the whole velocity at once.
    Slots: ``step``; ``momentum/<name>`` if momentum > 0; all start at 0.
    """

    def __init__(self, config: SGDConfig, parameters: Mapping[str, Any]) -> None: ...


def clip_by_global_norm(
    gradients: Mapping[str, Any], max_norm: float
) -> tuple[dict[str, Any], Any]:
    """Scale all gradients together so that their joint norm is at most ``max_norm``.

        norm = sqrt(sum of g^2 over all tensors),  clipped = g * max_norm / max(norm, max_norm)

    Source: Pascanu et al. 2013 (arXiv:1211.5063), algorithm 1, over all parameters jointly.

    Args:
        gradients: name -> gradient, one floating dtype for all; not changed.
        max_norm: finite and above 0.

    Returns:
        The clipped gradients under the same names, and the norm before clipping, a scalar of the
        gradients' dtype.

    Raises:
        ConfigError: ``max_norm`` is out of range; ``gradients`` is empty or holds None.
        DtypeError: a gradient is not floating, or they don't share one dtype.

    Conventions:
        - Norm at or below ``max_norm``, zero included: the scale is exactly 1.
        - Norm infinite or NaN (an infinite or NaN gradient, or squares that overflow the dtype):
          every clipped value is NaN. The scale ``max_norm / inf = 0`` would turn an exploded step
          into a silent no-op for all but the infinite entries.
        - Nothing is added to the norm; ``torch.nn.utils.clip_grad_norm_`` adds 1e-6.
    """


COMPONENT = Component(
    name="optimizers",
    contract=(Optimizer, Adam, RMSprop, SGD, clip_by_global_norm),
    checks=CHECKS,
    mutants=MUTANTS,
    errors=ERRORS,
)
