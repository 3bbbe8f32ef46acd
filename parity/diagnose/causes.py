"""The catalogue of causes: what each is called, how it shows, what to do about it.

``docs/porting.md`` has one section for each; ``anchor`` is its heading there. Ids are stable: they
stand in reports, in JSON and in links.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

PAGE = "docs/porting.md"


@dataclass(frozen=True)
class CauseInfo:
    """One known cause.

    Attributes:
        id: stable name.
        title: one line.
        symptom: how it shows.
        fix: what to do, in general; reports say it in the terms of the pair at hand.
        subject: ``loss``, ``gradient``, ``returns``, ``target``, ``graph``, ``random``,
            ``numerics``, ``dtype``, ``optimizer``, ``initialisation``, ``layout``, ``layer`` or
            ``general``.
    """

    id: str
    title: str
    symptom: str
    fix: str
    subject: str

    @property
    def anchor(self) -> str:
        return self.id

    @property
    def link(self) -> str:
        return f"{PAGE}#{self.anchor}"


_TABLE: tuple[tuple[str, str, str, str, str], ...] = (
    # losses -----------------------------------------------------------------------------------
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
        "other-computation",
        "general",
        "The sides compute something else at one place",
        "everything agrees when torch's value is put there",
        "compare the two lines",
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
    (
        "epsilon-value",
        "numerics",
        "Another epsilon",
        "differences grow where the guarded value is small",
        "set the same epsilon explicitly",
    ),
    (
        "epsilon-placement",
        "numerics",
        "Epsilon inside or outside the square root",
        "equal epsilons, and still a difference where the values are small",
        "sqrt(v) + eps and sqrt(v + eps) need different epsilons: write out the same form",
    ),
    (
        "constant",
        "general",
        "Another constant",
        "a number in the code differs",
        "give both sides the same number",
    ),
    (
        "complement",
        "general",
        "A constant taken for its complement",
        "c where the other side has 1 - c",
        "use 1 - c",
    ),
    (
        "boundary",
        "general",
        "A comparison includes its boundary on one side only",
        "rows exactly at a threshold are treated differently",
        "use the same comparison",
    ),
    (
        "comparison",
        "general",
        "Another comparison",
        "a condition selects other rows",
        "use the same comparison",
    ),
    (
        "option",
        "general",
        "An option in the code is set differently",
        "a switch of one side selects another branch",
        "set the option alike",
    ),
    (
        "entries-exchanged",
        "general",
        "Two results have changed places",
        "each of two outputs equals the other side's other output",
        "return or use them the other way",
    ),
    # gradients --------------------------------------------------------------------------------
    (
        "stop-gradient-missing",
        "gradient",
        "A gradient flows on the tf side that torch stops",
        "the loss agrees, its gradient does not: a target or advantage is differentiated",
        "wrap the value in tf.stop_gradient (torch: detach or no_grad)",
    ),
    (
        "stop-gradient-extra",
        "gradient",
        "A gradient is stopped on the tf side only",
        "the loss agrees, part of the gradient is missing",
        "drop tf.stop_gradient, or detach in torch",
    ),
    (
        "tie-gradient",
        "gradient",
        "Equal values share the gradient, or one takes it all",
        "gradients differ only where two candidates of a max or min tie",
        "torch.max(dim) sends it to one index, tf.reduce_max shares it; torch.minimum shares it, "
        "tf.minimum sends it to the first: gather at the argmax, or use amax",
    ),
    (
        "kink-gradient",
        "gradient",
        "The gradient at a kink (relu at 0) differs",
        "gradients differ only where the argument is exactly at the kink",
        "tf.maximum(x, 0) passes the gradient at 0, relu does not: use tf.nn.relu",
    ),
    (
        "clip-gradient",
        "gradient",
        "The gradient at or beyond the bounds of a clip differs",
        "gradients differ only at the bounds, or outside them",
        "write the clip out alike",
    ),
    (
        "straight-through",
        "gradient",
        "A step without gradient passes it on in torch",
        "the values agree, the tf side's gradient is zero or missing",
        "x + tf.stop_gradient(tf.round(x) - x)",
    ),
    (
        "nan-gradient",
        "gradient",
        "NaN from a branch that tf.where did not take",
        "values agree, the gradient is NaN on one side",
        "make the operand safe before the operation that fails: tf.where twice",
    ),
    (
        "norm-gradient",
        "gradient",
        "The gradient of a norm or root at zero",
        "NaN or infinity on one side where a vector is zero, zero on the other",
        "tf.norm differentiates to 0/0: guard the squared sum before the root",
    ),
    (
        "gradient-clipping",
        "gradient",
        "Gradients are clipped differently",
        "updates differ only when a gradient is large",
        "clip_grad_norm_ is global (global_clipnorm); clipnorm works per variable",
    ),
    # returns ----------------------------------------------------------------------------------
    (
        "mask-missing",
        "returns",
        "A mask is missing",
        "values leak across the end of an episode, or padding counts",
        "multiply by (1 - terminated) where the other side does",
    ),
    (
        "mask-extra",
        "returns",
        "A mask that the other side does not apply",
        "rows are zeroed on one side only",
        "drop the mask, or apply it on both sides",
    ),
    (
        "mask-other",
        "returns",
        "Another mask: termination taken for truncation, or shifted",
        "differences only at the ends of episodes",
        "mask the bootstrap at termination only",
    ),
    (
        "discount-power",
        "returns",
        "The discount is raised to another power",
        "n-step targets are too large or small: gamma in place of gamma^n",
        "discount the bootstrap by gamma to the number of rewards summed",
    ),
    (
        "discount",
        "returns",
        "Another discount",
        "returns drift apart with the horizon",
        "use one discount",
    ),
    (
        "total-return",
        "returns",
        "The whole return in place of the return-to-go, or the reverse",
        "every step of an episode has one and the same weight",
        "sum the rewards from each step on",
    ),
    (
        "off-by-one",
        "returns",
        "Off by one step or one index",
        "values are shifted by one, or one row is left out",
        "shift it back",
    ),
    (
        "reversed-axis",
        "returns",
        "In reverse order",
        "a sequence is read from its other end",
        "reverse it once",
    ),
    # target networks and state ----------------------------------------------------------------
    (
        "tau-swapped",
        "target",
        "tau and 1 - tau exchanged",
        "the target network follows almost at once, or hardly at all",
        "target = (1 - tau) * target + tau * online",
    ),
    (
        "tau-ignored",
        "target",
        "The tau that is passed in is not used",
        "the initial hard copy is only a soft step",
        "use the argument",
    ),
    (
        "tau-value",
        "target",
        "Another tau",
        "target networks move at another speed",
        "use one tau on both sides",
    ),
    (
        "state-not-updated",
        "target",
        "State that is never updated",
        "a target network, moving average or counter stays what it was at the start",
        "loop over all variables: non-trainable statistics are not among trainable_variables",
    ),
    (
        "update-order",
        "target",
        "Updates in another order",
        "values are those of the step before or after",
        "update in the same order",
    ),
    (
        "frozen-norm",
        "layer",
        "A layer frozen on one side",
        "a normalisation uses its moving statistics although it is called with training=True",
        "Keras' trainable=False also means inference mode for BatchNormalization: leave it "
        "trainable "
        "and keep its weights out of the optimizer",
    ),
    (
        "norm-momentum",
        "layer",
        "Momentum weighs the old average in Keras, the new batch in torch",
        "running statistics converge at another speed",
        "keras momentum = 1 - torch momentum",
    ),
    (
        "momentum-value",
        "layer",
        "Another momentum",
        "running averages differ",
        "set the same momentum",
    ),
    # graphs -----------------------------------------------------------------------------------
    (
        "frozen-state",
        "graph",
        "tf.function froze something when it was traced",
        "the first call agrees, later ones repeat it",
        "pass the value in as a tensor or keep it in a tf.Variable; draw random numbers outside or "
        "with tf.random",
    ),
    # randomness -------------------------------------------------------------------------------
    (
        "random-stream",
        "random",
        "The sides draw from different generators",
        "equal seeds, other numbers",
        "draw once with NumPy and give both sides the numbers",
    ),
    (
        "reseeded",
        "random",
        "A seed is set again and again",
        "every episode, batch or epoch repeats the first",
        "seed once",
    ),
    (
        "seeded-once",
        "random",
        "A seed is set once only, where torch sets it each time",
        "the first episode agrees, the later ones differ",
        "pass the seed at the same calls",
    ),
    (
        "repeated-value",
        "random",
        "A value repeats where it should change",
        "later entries equal an earlier one",
        "look for a seed, a cache or a frozen trace",
    ),
    # numerics ---------------------------------------------------------------------------------
    (
        "ddof",
        "numerics",
        "Variance divided by n or by n - 1",
        "standard deviations are off by sqrt(n / (n - 1))",
        "torch.std and torch.var divide by n - 1, tf.math.reduce_std by n: pass correction=0 or "
        "multiply",
    ),
    (
        "nested-variance",
        "numerics",
        "Variance taken one axis at a time",
        "means may be nested, variances may not",
        "reduce over all axes in one call",
    ),
    (
        "median",
        "numerics",
        "Median of an even number of values",
        "torch.median returns the lower of the middle two, others average them",
        "take sorted[(n - 1) // 2], or torch.quantile(0.5)",
    ),
    (
        "modulo",
        "numerics",
        "Two kinds of remainder",
        "differences for negative numbers only",
        "torch.fmod truncates (tf.truncatemod), torch.remainder and % floor (tf.math.floormod)",
    ),
    (
        "division",
        "numerics",
        "Integer division rounds down or towards zero",
        "differences for negative numbers only",
        "use the same rounding",
    ),
    (
        "rounding-mode",
        "numerics",
        "Another rounding",
        "differences at halves or negative numbers",
        "use the same rounding",
    ),
    (
        "ties",
        "numerics",
        "Another choice among equal values",
        "an argmax differs where values tie",
        "break ties alike",
    ),
    (
        "norm-kind",
        "numerics",
        "Another norm",
        "squared or not, mean or sum, L1 or L2",
        "use the same norm",
    ),
    (
        "normalisation",
        "numerics",
        "Normalised differently",
        "an offset, a scale or the axis of a normalisation differs",
        "normalise alike",
    ),
    (
        "percentile",
        "numerics",
        "Another kind of percentile",
        "interpolation between values differs",
        "name the method on both sides",
    ),
    (
        "clip-missing",
        "numerics",
        "A clip is missing",
        "differences only beyond a bound",
        "clip on both sides",
    ),
    (
        "clip-extra",
        "numerics",
        "A clip that the other side lacks",
        "differences only beyond a bound",
        "drop the clip, or clip on both sides",
    ),
    (
        "clipped-value",
        "numerics",
        "The clipped value in place of the raw one",
        "what is stored or used later is clipped on one side only",
        "store the raw value, clip only where it is used",
    ),
    (
        "action-scale",
        "numerics",
        "Values in other units",
        "actions in the environment's units on one side, in [-1, 1] on the other",
        "rescale on both sides",
    ),
    # dtypes -----------------------------------------------------------------------------------
    (
        "integer-overflow",
        "dtype",
        "Integers wrap around",
        "differences of bytes are taken modulo 256",
        "cast to float before the arithmetic",
    ),
    (
        "integer-cast",
        "dtype",
        "Cut off to integers on the way",
        "fractions are lost",
        "keep it in floating point, or round",
    ),
    (
        "half-precision",
        "dtype",
        "Half precision on the way",
        "only three digits agree",
        "compute in float32 on both sides",
    ),
    (
        "float32-inside",
        "dtype",
        "Float32 inside a float64 run",
        "only seven digits agree although both sides are given float64",
        "build layers and constants in float64 (dtype='float64'): set_floatx does not reach layers "
        "once one has been made",
    ),
    (
        "dtype",
        "dtype",
        "Another dtype comes out",
        "the values agree, their dtypes do not",
        "use one dtype on both sides",
    ),
    # optimizers -------------------------------------------------------------------------------
    (
        "other-optimizer",
        "optimizer",
        "Another optimizer",
        "updates differ from the first step on",
        "use the same algorithm",
    ),
    (
        "learning-rate",
        "optimizer",
        "Another learning rate",
        "updates are off by a factor",
        "set the same rate",
    ),
    (
        "rate-schedule",
        "optimizer",
        "Another learning-rate schedule",
        "updates part when the rate changes",
        "compare the rate of every step: warm-up, decay and the step from which it counts",
    ),
    (
        "adam-beta",
        "optimizer",
        "Other decay rates of Adam's averages",
        "updates drift apart",
        "set beta_1 and beta_2 to torch's betas",
    ),
    (
        "bias-correction",
        "optimizer",
        "Bias correction on one side only",
        "the first steps are too large or small",
        "correct both averages",
    ),
    (
        "amsgrad",
        "optimizer",
        "AMSGrad on one side only",
        "updates part after a large gradient",
        "set amsgrad alike",
    ),
    (
        "momentum-rate",
        "optimizer",
        "The learning rate inside or outside the momentum",
        "equal while the rate is constant, apart when it changes",
        "Keras keeps -rate * velocity: multiply its buffer by new rate / old rate at a change",
    ),
    (
        "dampening",
        "optimizer",
        "Dampening of the momentum",
        "updates part from the second step on",
        "Keras has none: set dampening=0 in torch, or scale the gradient",
    ),
    (
        "nesterov",
        "optimizer",
        "Nesterov momentum on one side only",
        "updates differ from step 1",
        "set nesterov alike",
    ),
    (
        "rho",
        "optimizer",
        "Another decay rate of RMSprop",
        "updates drift apart",
        "keras rho = torch alpha (defaults 0.9 and 0.99)",
    ),
    (
        "centered",
        "optimizer",
        "Centred RMSprop on one side only",
        "updates differ",
        "set centered alike",
    ),
    (
        "accumulator-start",
        "optimizer",
        "The accumulator starts at another value",
        "the first steps are much smaller on one side",
        "initial_accumulator_value: 0 in torch, 0.1 in Keras' Adagrad, 1 in TF1's RMSProp",
    ),
    (
        "initial-value",
        "initialisation",
        "A variable starts at another value",
        "the first values differ",
        "start both sides alike",
    ),
    (
        "weight-decay-coupling",
        "optimizer",
        "Weight decay coupled or decoupled",
        "the decay enters momentum and averages on one side and not on the other",
        "torch's SGD and Adam add it to the gradient, Keras' weight_decay shrinks the weights: add "
        "wd * w to the gradient, or use AdamW on both sides",
    ),
    (
        "weight-decay-value",
        "optimizer",
        "Another weight decay",
        "weights shrink at another speed",
        "set the same weight decay",
    ),
    (
        "l2-factor-two",
        "optimizer",
        "L2 penalty against weight decay: a factor of 2",
        "keras.regularizers.L2(wd) has the gradient 2 * wd * w, torch's weight_decay wd * w",
        "use keras.regularizers.L2(wd / 2)",
    ),
    ("regularizer", "optimizer", "Another regulariser", "the penalty differs", "set it alike"),
    (
        "decay-exclusion",
        "optimizer",
        "Weight decay reaches variables that torch leaves out",
        "biases and normalisation weights shrink on one side",
        "exclude_from_weight_decay(var_names=[...]) with the names that the variables really have",
    ),
    # initial values ---------------------------------------------------------------------------
    (
        "initializer",
        "initialisation",
        "Another initialiser",
        "initial weights are of another scale",
        "name the initialiser explicitly",
    ),
    (
        "initializer-gain",
        "initialisation",
        "Another gain of the initialiser",
        "initial weights are off by one factor",
        "pass the gain",
    ),
    (
        "forget-bias",
        "initialisation",
        "The forget gate's initial bias",
        "Keras sets it to 1, torch draws it like the others",
        "unit_forget_bias=False",
    ),
    # layouts ----------------------------------------------------------------------------------
    (
        "reshape-for-transpose",
        "layout",
        "A reshape in place of a transpose",
        "the shape is right, the values are mixed",
        "transpose",
    ),
    (
        "axis-order",
        "layout",
        "Axes in another order",
        "a square array hides a transpose",
        "put the axes in order",
    ),
    (
        "pair-order",
        "layout",
        "Pairs of amounts in another order",
        "padding at the wrong sides: F.pad lists the last dimension first",
        "reverse the pairs for tf.pad",
    ),
    (
        "element-order",
        "layout",
        "Elements in another order",
        "the values are a permutation",
        "use one order",
    ),
    (
        "resize-convention",
        "layout",
        "Resizing samples other points",
        "borders or non-integer scales differ",
        "set half_pixel_centers and align_corners to what torch does",
    ),
    ("padding", "layout", "Another padding", "borders differ", "pad explicitly"),
    (
        "switch",
        "general",
        "An operation is called with another option",
        "a switch of an operation differs",
        "set it alike",
    ),
    (
        "layer-setting",
        "layer",
        "A setting of a layer differs",
        "outputs of the layer differ",
        "set it alike",
    ),
    (
        "other-activation",
        "layer",
        "Another activation",
        "outputs of the layer differ",
        "use the same activation",
    ),
    (
        "activation-slope",
        "layer",
        "Another slope of an activation",
        "negative inputs differ",
        "set the slope",
    ),
    ("dropout", "layer", "Another dropout rate", "outputs in training differ", "set the rate"),
    (
        "variance-bias",
        "layer",
        "The running variance is biased in Keras, unbiased in torch",
        "running variances are off by n / (n - 1)",
        "multiply the batch variance by n / (n - 1) before averaging it",
    ),
    (
        "shift-direction",
        "layout",
        "Shifted in the other direction",
        "values are rolled the wrong way",
        "reverse the shift",
    ),
    (
        "relation",
        "general",
        "One side is a plain function of the other",
        "a relation between the arrays, without a known cause",
        "follow it to its origin",
    ),
    (
        "unexplained-factor",
        "general",
        "A factor without a reading",
        "one value is off by a constant factor",
        "look where this number could come from",
    ),
)

CAUSES: Mapping[str, CauseInfo] = {
    id_: CauseInfo(id_, title, symptom, fix, subject)
    for id_, subject, title, symptom, fix in _TABLE
}
