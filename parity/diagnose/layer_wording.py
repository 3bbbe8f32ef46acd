"""What is said about the causes of differences between layers, and what to do about each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from parity.diagnose.found import Found

_TEXT: Mapping[str, tuple[str, str]] = {
    # cause: (what is wrong, what to do about it)
    "norm-epsilon": ("epsilon is {torch:g} in torch and {tf:g} in Keras", ""),
    "norm-momentum": (
        "torch's momentum {torch:g} weighs the new batch, Keras's {tf:g} the old average",
        "",
    ),
    "norm-groups": ("{torch} groups in torch, {tf} in Keras", ""),
    "norm-axis": ("torch normalises {name} {torch}, Keras {tf}", ""),
    "variance-bias": (
        "torch averages the unbiased variance of the batch (n/(n-1), n={count}), Keras the biased",
        "multiply the batch variance by {count}/({count}-1) where the moving variance is updated",
    ),
    "training-mode": (
        "the layer uses {used} on the tf side, {torchs} on the torch side",
        "hand the training argument on: layer(x, training=training)",
    ),
    "frozen-norm": (
        "trainable=False makes Keras use the moving statistics; torch's requires_grad=False does "
        "not",
        "keep the layer trainable and leave gamma and beta out of the optimizer's variables",
    ),
    "padding-asymmetry": (
        "torch pads {amounts} at (start, end) of each axis, Keras's padding=\"same\" {tf}", "",
    ),
    "padding": ("the sides pad differently: torch {amounts}, Keras {tf}", ""),
    "padding-causal": (
        "torch's code pads the past only, {amounts} at (start, end); Keras pads {tf}", "",
    ),
    "padding-value": (
        "torch pads max pooling with -inf; zeros win over negative values on the tf side",
        'pad with -inf: tf.pad(..., constant_values=float("-inf")), or use padding="same" where '
        "the amounts are the same",
    ),
    "pooling-count": (
        "torch counts the padded zeros in its averages (count_include_pad), TensorFlow does not",
        'keras.layers.ZeroPadding2D before pooling with padding="valid"',
    ),
    "pooling-kind": ("torch and Keras pool differently: {torch} against {tf}", ""),
    "output-padding": (
        "the transposed convolutions cut their result at other ends: torch {torch}, Keras {tf}", "",
    ),
    "stride": ("strides {torch} in torch, {tf} in Keras", ""),
    "dilation": ("dilation {torch} in torch, {tf} in Keras", ""),
    "groups": ("{torch} groups in torch, {tf} in Keras", ""),
    "resize-convention": ("torch resizes by {torch}, TensorFlow by {tf}", (
        "use tf.compat.v1.image.resize(..., align_corners=True), or gather at torch's grid"
    )),
    "activation-missing": (
        "torch applies {torch} to the output of {source}, the tf side {tf}",
        "apply the activation on the tf side as well",
    ),
    "activation-extra": (
        "the tf side applies {tf} to the output of {source}, torch {torch}",
        "leave the activation out on the tf side",
    ),
    "missing-operation": (
        "torch makes of the output of {source} its {torch}, the tf side leaves it as it is",
        "apply it on the tf side as well",
    ),
    "extra-operation": (
        "the tf side makes of the output of {source} its {tf}, torch leaves it as it is",
        "leave it out on the tf side",
    ),
    "activation-doubled": (
        "the tf side applies {tf}, torch {torch}",
        "leave the activation out of one of the two places",
    ),
    "activation-variant": ("torch computes {torch}, the tf side {tf}", "use the same function"),
    "activation-slope": ("{torch} in torch, {tf} on the tf side", "set the parameter to torch's"),
    "softmax-axis": ("torch computes {torch}, the tf side {tf}", "give softmax torch's axis"),
    "layer-order": (
        "{function} stands in another place: it is applied before the layer on one side and behind "
        "it on the other",
        "apply it where torch does",
    ),
    "scale-misplaced": (
        "{function} is scaled by {factor:g}: what it returns on one side, what it is given on the "
        "other ({inside})",
        "scale what the function returns where torch does",
    ),
    "factor": ("the tf side is torch's times a constant{factor_text}", "take out the factor"),
    "sign": ("the tf side has the other sign", "negate it"),
    "shift": ("the tf side is shifted", "take out the shift"),
    "residual-missing": (
        "the tf side lacks the term {source} that torch adds", "add the residual",
    ),
    "residual-extra": (
        "the tf side adds {source}, torch does not", "leave the residual out",
    ),
    "split-order": (
        "the two halves of {source} are exchanged", "exchange the two results of the split",
    ),
    "concat-order": (
        "the parts are concatenated in another order", "concatenate in torch's order",
    ),
    "feature-order": (
        "the last axis holds the same values in another order", "bring them in torch's order",
    ),
    "flatten-order": (
        "torch: {torch}; tf: {tf}",
        "keras.layers.Permute((3, 1, 2)) before Flatten, or permute the rows of the next kernel",
    ),
    "reshape-not-transpose": (
        "an array was reshaped where its axes had to be exchanged", "transpose instead of reshape",
    ),
    "transposed": ("torch: {torch}; tf: {tf}", "exchange the axes as torch does"),
    "time-axis": (
        "torch reads [time, batch, features], Keras [batch, time, features]",
        "transpose before and behind the Keras layer",
    ),
    "reversed-time": ("one side's sequence runs backwards", "tf.reverse(x, axis=[1])"),
    "last-step": (
        "torch takes {torch}, the tf side {tf}",
        "return_sequences=True and take the same step as torch",
    ),
    "reduction-axis": ("torch takes the {torch}, the tf side the {tf}", "reduce torch's axes"),
    "other-computation": ("torch: {torch}; tf: {tf}", "compute what torch does"),
    "mask-polarity": (
        "True means 'ignore' in torch's masks and 'attend' in Keras's {argument}", "",
    ),
    "reset-after": (
        "torch applies the reset gate after the recurrent product; reset_after=False before it", "",
    ),
    "head-layout": ("the heads are counted in another order or number", (
        "weight.T.reshape(width, heads, size): heads are the slow axis"
    )),
    "kernel-transposed": (
        "{tensors} is torch's weight without the transposition; torch stores [out, in]",
        "copy weight.T, whatever the shapes",
    ),
    "kernel-axes": (
        "{tensors} has its axes in another order than Keras's [spatial, in, out]",
        "np.transpose(weight, (2, 3, 1, 0)) for Conv2d; a depthwise kernel is [C, M, h, w] first",
    ),
    "kernel-flipped": (
        "{tensors} is flipped in space; neither framework flips kernels", "leave the flip out",
    ),
    "gate-order": (
        "the gate blocks of {tensors} stand in the order {order} instead of {expected}",
        "reorder the blocks: GRU r, z, n -> z, r, n; LSTM i, f, g, o as they are",
    ),
    "forget-bias": (
        "the forget gate's bias is 1 larger: added at run time in one framework and stored in the "
        "other",
        "forget_bias=0, or unit_forget_bias=False, when the weights come from torch",
    ),
    "bias-dropped": (
        "only one of torch's two biases was copied ({kept})", "copy bias_ih + bias_hh",
    ),
    "packed-projection": (
        "query, key and value were taken from in_proj_weight in another order",
        "query, key, value = np.split(in_proj_weight, 3)",
    ),
    "direction-swapped": (
        "forward and backward weights are exchanged",
        "copy _l0 to forward, _l0_reverse to backward",
    ),
    "weights-swapped": (
        "{tensors} hold each other's values",
        "Keras's order is gamma, beta, moving_mean, moving_variance",
    ),
    "weights-not-copied": (
        "not copied: {tensors} still at the values of the start",
        "copy it; running statistics are buffers: in state_dict(), not among parameters()",
    ),
    "weights-of-other-layer": (
        "{tensors} holds the weights of torch's {other}", "pair the layers by name, not by sorting",
    ),
    "weights-differ": ("{tensors} holds other values than torch's", "copy torch's"),
    "initial-value": (
        "the sides start with other values of {name}", "give it torch's initial value",
    ),
    "low-precision": (
        "the layer computes in {tf}, torch's in {torch}",
        'dtype="float32" for the layer, or keras.config.set_dtype_policy("float32") before it',
    ),
    "argument-order": (
        "two arguments of the layer are exchanged on the tf side", "exchange them",
    ),
    "constant-differs": ("{name} is {torch} in torch and {tf} on the tf side", ""),
    "other-operand": (
        "what goes on is output {torch} of {source} in torch, output {tf} on the tf side",
        "take the same output of the layer",
    ),
    "mask-missing": ("torch masks the scores, the tf side not; with {argument} they agree", ""),
    "mask-extra": ("the tf side masks the scores, torch does not; with {argument} they agree", ""),
    "call-order": (
        "the layers are called in another order: torch {torch}; tf {tf}", "call them as torch does",
    ),
    "rows-rolled": (
        "{tensors} is shifted by {shift} along axis {axis}", "copy the rows without an offset",
    ),
    "embedding-padding": (
        "torch sends no gradient to row {row} (padding_idx), Keras does",
        "multiply the looked-up vectors by the mask of the tokens that are not padding",
    ),
    "stop-gradient-extra": (
        "the tf side sends no gradient back {paths_text}", "take the stop_gradient out",
    ),
    "stop-gradient-missing": (
        "the tf side sends a gradient back {paths_text} that torch detaches",
        "wrap it in tf.stop_gradient",
    ),
    "tie-gradient": (
        "the gradients differ only where the input is {values}", "use the same function as torch",
    ),
}  # fmt: skip


def worded(place: str, before: float, found: Sequence[Found], run: Any) -> list[Mapping[str, Any]]:
    """The causes of one fault as a report holds them; those that fit as well are alternatives."""
    together = [f for f in found if f.facts.get("together")]
    by_tensor = [f for f in found if "tensors" in f.facts]
    lead = together or by_tensor or list(found[:1])
    rest = [f.cause for f in found if f not in lead]
    title = _title(place, run)
    return [
        {
            "cause": f.cause,
            "text": f"{title}: {_sentence(f)}",
            "title": title,
            "said": _sentence(f),
            "before": before,
            "after": f.after,
            "fix": f.fix or _filled(_TEXT.get(f.cause, ("", ""))[1], _facts(f)),
            "place": place,
            "docs": f"docs/porting.md#{f.cause}",
            "alternatives": [cause for cause in dict.fromkeys(rest) if cause != f.cause],
        }
        for f in lead
    ]


def _title(place: str, run: Any) -> str:
    """The place in both sides' names of the layer."""
    if place == "output":
        return "behind the last layer"
    torch = place.removeprefix("grad/").removesuffix("/input")
    matches = getattr(getattr(run, "matching", None), "matches", ())
    tf = next((m.tf_path for m in matches if m.path == torch), torch)
    named = torch if tf in ("", torch) else f"{torch} ({tf} in tf)"
    if place.endswith("/input"):
        return f"before {named}"
    if place.startswith("grad/"):
        return f"the gradient of {named}"
    # a Sequential counts its layers; a number alone would not be read as a name
    return f"layer {named}" if torch.isdigit() else named


def _sentence(f: Found) -> str:
    template = _TEXT.get(f.cause, (f.cause, ""))[0]
    name = f.facts.get("name")
    if name and "{name}" not in template and f.cause.startswith(("activation", "softmax")):
        return f"{name} is {f.facts.get('torch')} in torch and {f.facts.get('tf')} in Keras"
    return _filled(template, _facts(f))


def _facts(f: Found) -> dict[str, Any]:
    facts: dict[str, Any] = {"torch": "its own", "tf": "another", "name": "", **f.facts}
    if "tensors" in facts:
        facts["tensors"] = ", ".join(facts["tensors"])
    paths = facts.get("paths")
    facts["paths_text"] = f"through {', '.join(paths)}" if paths else "here"
    factor = facts.get("factor")
    facts["factor_text"] = f" ({1 / factor:g})" if isinstance(factor, float) and factor else ""
    facts.setdefault("amounts", facts["torch"])
    if isinstance(facts["torch"], bool) and f.cause == "training-mode":
        names = {True: "the statistics of the batch", False: "the moving statistics"}
        facts["torchs"], facts["used"] = names[facts["torch"]], names[facts["tf"]]
    return facts


def _filled(template: str, facts: Mapping[str, Any]) -> str:
    try:
        return template.format(**facts)
    except (KeyError, ValueError):  # a fact that this cause was found without
        return template.split("{")[0].rstrip(" ,:(")
