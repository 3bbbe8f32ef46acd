"""Where the frameworks' stock optimizers are not the definition in ``spec.py``, as data.

``python -m impls.optimizers.stock`` measures every entry; a test holds the numbers to it, in both
directions: the difference exists, has this size, and the formula removes it.
"""

from __future__ import annotations

from dataclasses import dataclass

from parity.tolerance import DEFAULTS, Tolerance

#: The formula leaves no more than what float64 rounding leaves.
EXPLAINED = DEFAULTS["float64"]
SIZE = Tolerance(0.05, "sizes are quoted with two digits: half a unit of the second is up to 5 %")


@dataclass(frozen=True)
class StockDivergence:
    """A documented difference between a stock optimizer and the definition.

    Attributes:
        id: short name; also the name of its measurement.
        theirs: the stock call.
        ours: what it is compared with.
        formula: what turns the definition into theirs.
        because: why it matters and what to do.
        size: largest difference of a parameter after 20 steps in float64 (clipping: of a clipped
            gradient), measured with keras 3.15 and torch 2.13.
    """

    id: str
    theirs: str
    ours: str
    formula: str
    because: str
    size: float


STOCK_DIVERGENCES = (
    StockDivergence(
        id="keras-adam-epsilon",
        theirs="keras.optimizers.Adam(epsilon=1e-3)",
        ours="Adam with epsilon=1e-3",
        formula="epsilon -> epsilon / sqrt(1 - beta2^t) in step t",
        because=(
            "Keras adds epsilon to the root of the uncorrected second moment. In the first step "
            "(beta2 = 0.999) that is an epsilon 32 times as large; the factor falls to 1 over "
            "thousands of steps, so no constant makes the two equal"
        ),
        size=3.4e-3,
    ),
    StockDivergence(
        id="keras-adam-default-epsilon",
        theirs="keras.optimizers.Adam()",
        ours="Adam with epsilon=1e-8, the paper's and torch's default",
        formula="epsilon -> 1e-7 / sqrt(1 - beta2^t) in step t",
        because=(
            "Keras's default epsilon is 1e-7. With gradients of size 1 the difference is small; "
            "where gradients come near epsilon it is as large as the step itself"
        ),
        size=1.0e-6,
    ),
    StockDivergence(
        id="keras-adam-float32-constants",
        theirs="keras.optimizers.Adam(epsilon=1e-3) on float64 variables",
        ours="Adam with the epsilon of the entry keras-adam-epsilon",
        formula="beta1, beta2 -> float32(beta1), float32(beta2) in the bias corrections alone",
        because=(
            "Keras casts the betas with ops.cast, which takes a Python number through float32: "
            "1 - 0.999^t is off by 1e-5 of its size at t = 1, in float64 too. Momentum and weight "
            "decay of SGD and RMSprop and Adagrad's first accumulator take the same way"
        ),
        size=6.1e-7,
    ),
    StockDivergence(
        id="keras-learning-rate-float32",
        theirs="keras.optimizers.SGD(learning_rate=0.1) on float64 variables",
        ours="SGD with learning_rate=0.1",
        formula="learning_rate -> float32(learning_rate)",
        because=(
            "Keras keeps the learning rate in a variable of keras.config.floatx(), float32 unless "
            "it was changed, whatever the dtype of the parameters"
        ),
        size=2.1e-8,
    ),
    StockDivergence(
        id="keras-rmsprop-epsilon",
        theirs="keras.optimizers.RMSprop(rho=0.9, epsilon=1e-7)",
        ours="RMSprop with decay=0.9, epsilon=1e-7",
        formula="sqrt(v) + epsilon -> sqrt(v + epsilon)",
        because=(
            "epsilon under the root is felt up to gradients of sqrt(epsilon) = 3e-4, outside it up "
            "to 1e-7: the same number is another constant. The default rho is 0.9, torch's 0.99"
        ),
        size=1.8e-4,
    ),
    StockDivergence(
        id="keras-rmsprop-learning-rate-in-buffer",
        theirs="keras.optimizers.RMSprop(momentum=0.875), learning rate halved at step 10",
        ours="RMSprop with momentum=0.875, likewise",
        formula="b <- momentum * b + learning_rate * g / sqrt(v + epsilon); p <- p - b",
        because=(
            "Keras's buffer holds updates scaled by the rate of their own step; a changed rate "
            "reaches them only as they fade. Equal as long as the rate is constant"
        ),
        size=1.5e-1,
    ),
    StockDivergence(
        id="keras-sgd-learning-rate-in-buffer",
        theirs="keras.optimizers.SGD(momentum=0.875), learning rate halved at step 10",
        ours="SGD with momentum=0.875, likewise",
        formula="b <- momentum * b + learning_rate * g; p <- p - b",
        because="as the entry above; bites with every learning-rate schedule",
        size=1.3e-1,
    ),
    StockDivergence(
        id="keras-sgd-weight-decay",
        theirs="keras.optimizers.SGD(momentum=0.875, weight_decay=2**-7)",
        ours="SGD with momentum=0.875, weight_decay=2**-7",
        formula="p <- p - learning_rate * weight_decay * p, outside the buffer; then the step",
        because=(
            "Keras's weight decay is decoupled (as in AdamW) in every optimizer; torch's SGD, "
            "RMSprop and Adam add it to the gradient, so that it passes through the slots"
        ),
        size=1.2e-2,
    ),
    StockDivergence(
        id="keras-adagrad",
        theirs="keras.optimizers.Adagrad()",
        ours="torch.optim.Adagrad() (the component has no Adagrad)",
        formula="accumulator starts at float32(0.1), and sqrt(v) + 1e-10 -> sqrt(v + 1e-7)",
        because=(
            "torch's accumulator starts at 0, so its first step has the size of the learning rate "
            "whatever the gradient; initial_accumulator_value makes the two equal, but for epsilon"
        ),
        size=7.3e-3,
    ),
    StockDivergence(
        id="keras-clipnorm-per-variable",
        theirs="keras.optimizers.SGD(clipnorm=0.5)",
        ours="clip_by_global_norm with max_norm=0.5",
        formula="each tensor is clipped by its own norm",
        because=(
            "the argument with the plain name clips each variable by itself, which turns the "
            "direction of the step; global_clipnorm is the one that clips jointly"
        ),
        size=1.0e-3,
    ),
    StockDivergence(
        id="torch-clip-grad-norm",
        theirs="torch.nn.utils.clip_grad_norm_ (a gradient of norm 1 clipped to 0.5)",
        ours="clip_by_global_norm",
        formula="scale = min(1, max_norm / (norm + 1e-6))",
        because=(
            "relative difference 1e-6 / norm: 1e-6 at norm 1, 1 % at norm 1e-4; a norm equal to "
            "max_norm is scaled too. tf.clip_by_global_norm adds nothing"
        ),
        size=2.6e-7,
    ),
)


def markdown_table() -> str:
    """The table as it stands in ``docs/optimizers.md``."""
    head = "| stock | compared with | apart | what the definition becomes | why it matters |"
    rows = (
        f"| `{e.id}`: {e.theirs} | {e.ours} | {e.size:.1e} | {e.formula} | {e.because} |"
        for e in STOCK_DIVERGENCES
    )
    return "\n".join([head, "| --- | --- | --- | --- | --- |", *rows])
