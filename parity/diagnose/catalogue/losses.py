"""Causes in losses."""

from __future__ import annotations

ROWS: tuple[tuple[str, str, str, str, str], ...] = (
    (
        "loss-reduction",
        "loss",
        "Sum against mean, or a mean over another number of elements",
        "the loss and all gradients are off by one factor: a batch size, or a dimension",
        "use the same reduction on both sides; check what it divides by",
    ),
    (
        "weighted-mean",
        "loss",
        "A weighted loss divided by the batch size or by the sum of the weights",
        "the loss is off by sum(weights)/n, which changes from batch to batch",
        "torch's reduction='mean' with weight= divides by the sum of the weights, Keras by their "
        "number "
        "of elements: sum and divide explicitly",
    ),
    (
        "class-weight",
        "loss",
        "Classes weighted on one side only, or with other weights",
        "the loss is off by an amount that changes with the labels in the batch; rare classes are "
        "missed",
        "torch's pos_weight multiplies the term of the positive targets only: "
        "tf.nn.weighted_cross_entropy_with_logits; weight= picks one weight for each label: "
        "tf.gather(weights, labels), and torch's mean divides by their sum",
    ),
    (
        "factor-two",
        "loss",
        "A factor of 2",
        "values or gradients are exactly double or half",
        "decide on 0.5 * x**2 or x**2, once, on both sides",
    ),
    (
        "constant-factor",
        "loss",
        "Another constant factor",
        "values are off by one constant factor",
        "use the same factor on both sides",
    ),
    (
        "sign",
        "loss",
        "A sign is flipped",
        "a loss falls where the other rises",
        "make both sides minimise the same quantity",
    ),
    (
        "argument-order",
        "loss",
        "Arguments in another order",
        "a loss that is not symmetric differs, or prediction and target get each other's gradient",
        "Keras losses take (y_true, y_pred), torch's (input, target)",
    ),
    (
        "logits-probabilities",
        "loss",
        "Logits taken for probabilities, or the reverse",
        "a cross-entropy that is too flat or explodes",
        "set from_logits to what the network really returns",
    ),
    (
        "label-smoothing",
        "loss",
        "Label smoothing on one side only, or another amount",
        "the loss has a floor that the other lacks",
        "set label_smoothing alike",
    ),
    (
        "log-guard",
        "loss",
        "Another guard against log(0)",
        "losses differ only where probabilities are 0 or 1",
        "torch's BCELoss clamps log p at -100, Keras clips p to [1e-7, 1 - 1e-7]: take logits on "
        "both "
        "sides, or write the same guard",
    ),
    (
        "silent-broadcast",
        "loss",
        "(n,) with (n, 1) silently grows to (n, n)",
        "the loss is an average over a matrix; its value looks plausible",
        "squeeze or index the extra axis before combining",
    ),
    (
        "reduction-axis",
        "loss",
        "Reduced over other axes",
        "a reduction or softmax runs over the wrong axis, often hidden by later broadcasting",
        "name the axis explicitly on both sides",
    ),
    (
        "loss-constant",
        "loss",
        "Another constant of a loss (delta, gamma, alpha, margin)",
        "the loss differs only beyond a threshold, or by a power",
        "set the constant alike",
    ),
    (
        "missing-term",
        "loss",
        "A term is missing",
        "the loss lacks one summand",
        "add the term, or drop it on the other side",
    ),
    (
        "missing-factor",
        "loss",
        "A factor is missing",
        "the tf side lacks one factor",
        "multiply by it, or drop it on the other side",
    ),
    (
        "operation-order",
        "loss",
        "Two operations in the other order",
        "for example weights inside the square, or the square of a mean",
        "exchange them",
    ),
    (
        "extra-term",
        "loss",
        "A term that the other side lacks",
        "the loss has one summand more",
        "drop the term, or add it on the other side",
    ),
    (
        "extra-factor",
        "loss",
        "A factor that the other side lacks",
        "one side multiplies or divides once more",
        "drop the factor, or add it on the other side",
    ),
    (
        "extra-operation",
        "loss",
        "A function applied once too often",
        "for example exp of what is a standard deviation already, or softmax twice",
        "apply it once",
    ),
    (
        "missing-operation",
        "loss",
        "A function that only the torch side applies",
        "for example a log, an exp, a tanh or a normalisation is missing",
        "apply it on both sides",
    ),
    (
        "other-function",
        "loss",
        "Another function in the same place",
        "the sides apply different functions to one value",
        "use the same function",
    ),
    (
        "loss-kind",
        "loss",
        "Another loss of the same kind: squared, absolute, Huber, log cosh",
        "small errors agree up to a factor, large ones weigh more or less",
        "use the same loss: torch's smooth_l1_loss(beta=b) is keras.losses.Huber(delta=b) divided "
        "by b",
    ),
    (
        "other-operation",
        "loss",
        "Another operation in the same place",
        "for example maximum where the other takes the minimum",
        "use the same operation",
    ),
    (
        "operand-order",
        "loss",
        "Operands exchanged",
        "a difference, quotient or power is taken the other way round",
        "exchange them",
    ),
    (
        "other-operand",
        "loss",
        "Another value is used",
        "for example the state in place of the next state",
        "use the same value on both sides",
    ),
)
