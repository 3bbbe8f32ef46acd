"""Causes in gradients, and in the dtypes that values have."""

from __future__ import annotations

ROWS: tuple[tuple[str, str, str, str, str], ...] = (
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
)
