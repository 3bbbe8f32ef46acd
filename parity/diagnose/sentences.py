"""The sentence of each cause, from its facts.

``e`` is the user's own expression at the place in question.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Facts = Mapping[str, Any]

Say = Callable[[Facts, str], str]


def said_value(value: Any) -> str:
    return said_number(value) if isinstance(value, float) else repr(value)


def said_number(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.10g}"
    return str(value)


def general_text(facts: Facts, expr: str) -> str:
    if "was" in facts and "wanted" in facts:
        return f"{expr} uses {facts['was']}; with {facts['wanted']} the sides agree"
    return f"at {expr}" if expr.startswith("`") else ""


def _line(facts: Facts) -> str:
    """Where torch computes it; a value that is known without its code has no line."""
    line = str(facts["torch_line"])
    return f" ({line})" if line.strip(": ") else ""


def _mask(facts: Facts, expr: str) -> str:
    if facts["form"] == "softmax":
        return (
            f"torch leaves out of {expr} what the mask ({facts['mask']}) does, before the softmax; "
            "the tf side does not"
        )
    if "other" in facts:
        state = "not set" if facts["form"] == "inverse" else "set"
        return (f"torch takes {facts['other']} in place of {expr} where {facts['mask']} is "
                f"{state}; the tf side does not")  # fmt: skip
    if str(facts["form"]).startswith("a mean"):
        return (f"torch takes {expr} as a mean over {_where(facts)}; the tf side averages over "
                "everything")  # fmt: skip
    return f"torch multiplies {expr} by a mask ({_made_of(facts)}); the tf side does not"


SENTENCES: Mapping[str, Say] = {
    "loss-reduction": lambda f, e: f"{e} is a {f['was']}; as a {f['wanted']} it agrees with torch",
    "class-weight": lambda f, e: _weighted(f, e),
    "schedule-shape": lambda f, e: (
        f"of {f['steps']} torch makes a schedule that is {f['torch']}; the tf side's is {f['tf']}"
    ),
    "reduction-axis": lambda f, e: (
        f"{e} runs over axes {f['was']}; over {f['wanted']} it agrees with torch"
    ),
    "sign": lambda f, e: f"{e} has the opposite sign in torch",
    "argument-order": lambda f, e: (
        f"with the arguments {f['first']} and {f['second']} exchanged the sides agree"
    ),
    "log-guard": lambda f, e: (
        f"{e} guards with {f['was'] if f['was'] is not None else 'nothing'}; "
        f"with {f['wanted']} it agrees with torch"
    ),
    "silent-broadcast": lambda f, e: (
        f"{e} combines shapes {' and '.join(str(tuple(s)) for s in f['shapes'])} to "
        f"{tuple(f['result'])}; without the extra axis the sides agree"
    ),
    "missing-operation": lambda f, e: _applied(f, e),
    "clip-missing": lambda f, e: _applied(f, e),
    "logits-probabilities": lambda f, e: (
        f"{e} applies {f['operation']} on the tf side; without it the sides agree: what is given "
        "on is then turned into probabilities once more"
        if f["operation"][:1].isupper()
        else _applied(f, e)
    ),
    "complement": lambda f, e: (
        f"{e} is what torch has as one minus it; with 1 - {e} the sides agree"
        if "taken" in f
        else general_text(f, e)
    ),
    "missing-term": lambda f, e: (
        f"torch has {e} {f['sign']} `{f['term']}` there{_line(f)}"
        if "term" in f
        else f"torch has {e} {f['form']} {_times(f)}`{f['other']}` there{_line(f)}"
    ),
    "missing-factor": lambda f, e: (
        f"torch has {e} times `{f['factor_of']}` there{_line(f)}"
        if "factor_of" in f
        else f"torch has {e} {f['form']} `{f['other']}` there{_line(f)}"
    ),
    "other-computation": lambda f, e: (
        f"with torch's `{f['torch_line']}` in the place of {e} everything agrees"
    ),
    "operation-order": lambda f, e: (
        f"{e} applies {f['first']} before {f['second']}; the other way round it agrees with torch"
    ),
    "norm-kind": lambda f, e: (
        f"{e} takes the root of a sum; the sum of the roots, as of absolute values, agrees with "
        "torch"
        if "first" in f
        else general_text(f, e)
    ),
    "straight-through": lambda f, e: (
        f"{e} stops the gradient on the tf side; passed straight through it agrees with torch"
    ),
    "extra-operation": lambda f, e: (
        f"{e} applies {f['operation']} on the tf side; without it the sides agree: it is applied "
        "once too often, or torch leaves it out"
    ),
    "clip-extra": lambda f, e: f"{e} clips on the tf side; without it the sides agree",
    "extra-factor": lambda f, e: (
        f"{e} has the factor {f['number']}, which torch does not have"
        if "number" in f
        else f"{e} has a factor that torch does not have"
    ),
    "factor-two": lambda f, e: (
        f"{e} has the factor {f['number']}, which torch does not have"
        if "number" in f
        else general_text(f, e)
    ),
    "extra-term": lambda f, e: f"{e} has a term that torch does not have",
    "mask-extra": lambda f, e: f"{e} is masked on the tf side; without the mask the sides agree",
    "mask-missing": _mask,
    "mask-polarity": lambda f, e: (
        f"{f['masking']} keeps what torch leaves out; with the mask {f['mask']} the sides agree"
    ),
    "mask-multiplied": lambda f, e: (
        f"{f['masking']} sets scores to zero; with minus infinity where the mask ({f['mask']}) is "
        "not set the sides agree"
    ),
    "mask-other": lambda f, e: (
        f"{e} uses another mask than torch: with {_made_of(f)} the sides agree"
    ),
    "other-function": lambda f, e: f"{e} applies {f['was']}, torch {f['wanted']}",
    "other-operation": lambda f, e: f"{e} is {f['was']} on the tf side; torch's is {f['wanted']}",
    "operand-order": lambda f, e: f"the operands of {e} are exchanged on one side",
    "other-operand": lambda f, e: (
        f"torch takes {f['wanted']}; {e} takes the same element of all rows"
        if "rows" in f
        else f"with {f['wanted']} as an operand of {e} the sides agree"
    ),
    "epsilon-placement": lambda f, e: (
        f"{e} adds epsilon {f['was']:g}; {f['wanted']} it agrees with torch"
    ),
    "entries-exchanged": lambda f, e: (
        f"tf's {f['first']!r} is torch's {f['second']!r}, and the reverse"
    ),
    "stop-gradient-missing": lambda f, e: (
        f"the gradient reaches the input {f['input']} on the tf side; torch stops it (detach)"
        if "input" in f
        else f"the gradient flows through {e} on the tf side; torch stops it there (detach)"
    ),
    "stop-gradient-extra": lambda f, e: f"{e} stops the gradient on the tf side; in torch it flows",
    "tie-gradient": lambda f, e: (
        f"where values tie in {e}, the tf side's gradient is {_tie(f['was'])}, torch's "
        f"{_tie(f['wanted'])}"
    ),
    "kink-gradient": lambda f, e: (
        f"{e} is differentiated at its kink as {f['was']} on the tf side, as {f['wanted']} in torch"
    ),
    "clip-gradient": lambda f, e: (
        f"the gradient of {e} at its bounds is {f['was']} on the tf side, {f['wanted']} in torch"
    ),
    "gradient-clipping": lambda f, e: (
        f"torch's gradients are {f['torch']}, the tf side's {f['tf']}"
    ),
    "nan-gradient": lambda f, e: (
        f"{e} hides a value that is not finite; its gradient, times zero, is NaN. With finite "
        "gradients there the sides agree"
    ),
    "norm-gradient": lambda f, e: (
        f"{e} takes the root of zero; its gradient is infinite or NaN on the tf side, zero in torch"
    ),
    "tau-swapped": lambda f, e: (
        f"{e} blends with {f['was']:g}; with {f['wanted']:g} the sides agree: old and new weights "
        "are exchanged"
    ),
    "tau-ignored": lambda f, e: (
        f"{e} blends with {f['was']:g} at the {f['which']} update as at every other; torch uses "
        f"{f['wanted']:g} there: the argument tau is ignored"
    ),
    "tau-value": lambda f, e: f"{e} blends with {f['was']:g}, torch with {f['wanted']:g}",
    "state-not-updated": lambda f, e: (
        f"{e} reads variables that still hold their first values; with those of the other network, "
        "which torch copied into them, the sides agree: they were made after the copy"
        if "read" in f
        else f"{_short(f['entry'])!r} is still {f['equals']} on the tf side, bit for bit; torch's "
        "has changed"
    ),
    "update-order": lambda f, e: (
        f"{e} uses `{f['source']}` as it was {'before' if f['when'] == 'after' else 'after'} its "
        f"update; as it is {f['when']} it the sides agree"
        if "when" in f
        else f"tf's {f['entries']!r} entries are torch's of the step "
        f"{'after' if f['shift'] > 0 else 'before'}"
    ),
    "frozen-state": lambda f, e: (
        "run eagerly the sides agree, as tf.function traced it they do not"
        + (f": {', '.join(f['functions'])}" if f["functions"] else "")
        + (
            " draws random numbers with NumPy or Python while it is traced"
            if f["draws"]
            else " reads a Python value (an attribute, a number) that is a constant once traced"
        )
    ),
    "random-stream": lambda f, e: (
        f"{e} draws with TensorFlow's generator; with torch's draws in its place the sides agree"
    ),
    "reseeded": lambda f, e: (
        "with the seed set at the first reset only the sides agree: the tf side passes the seed "
        "again at each reset, so every episode starts alike"
        if f["what"] == "environment"
        else "with the seed set once only the sides agree: the tf side sets it again and again"
    ),
    "seeded-once": lambda f, e: "with the seed passed at every reset the sides agree",
    "repeated-value": lambda f, e: (
        f"on the tf side {_short(f['entry'])!r} equals {_short(f['equals'])!r}, in torch not"
    ),
    "aliasing": lambda f, e: (
        f"on the tf side {_short(f['entry'])!r} equals {_short(f['equals'])!r}, in torch not: it "
        "may be one object under two names"
    ),
    "shared-seed": lambda f, e: (
        f"{e} draws the same numbers each time; with torch's draws in their place the sides agree"
    ),
    "unstable-formula": lambda f, e: f"{e} takes {f['was']}; with {f['wanted']} the sides agree",
    "weighted-mean": lambda f, e: (
        f"{e} divides by the number of all elements; divided by the number of those with "
        f"{_where(f)} it agrees with torch"
        if "mask" in f
        else ""
    ),
    "initial-value": lambda f, e: (
        f"{e} starts at a constant; with {f['source_of']} it agrees with torch"
        if "source_of" in f
        else ""
    ),
    "modulo": lambda f, e: f"{e} is {f['was']}; as a {f['wanted']} it agrees with torch",
    "division": lambda f, e: f"{e} is {f['was']}; as {f['wanted']} it agrees with torch",
    "rounding-mode": lambda f, e: f"{e} rounds as {f['was']}, torch {f['wanted']}",
    "integer-overflow": lambda f, e: (
        f"the arithmetic on {', '.join(f['names'])} runs in {f['was']} on the tf side and wraps "
        f"around; in {f['wanted']} the sides agree"
    ),
    "integer-cast": lambda f, e: f"{e} cuts off to {f['dtype']}; without that the sides agree",
    "half-precision": lambda f, e: f"{e} rounds to {f['dtype']}; without that the sides agree",
    "float32-inside": lambda f, e: (
        f"the tf side computes in float32 although it is given float64: the difference "
        f"{f['error']:.2g} is within float32's rounding ({f['bound']:.2g})"
    ),
    "reshape-for-transpose": lambda f, e: (
        f"{e} is given a reshape of an input of shape {tuple(f['shape'])}; with its axes "
        f"transposed to {tuple(f['order'])} the sides agree"
    ),
    "axis-order": lambda f, e: (
        _switched(f, e)
        if "switch" in f
        else (f"with the axes in the order {f.get('order', f.get('wanted'))} {e} agrees with torch")
    ),
    "pair-order": lambda f, e: f"{e} uses {f['was']}; with {f['wanted']} the sides agree",
    "reversed-axis": lambda f, e: f"reversed along axis {f['axis']}, {e} agrees with torch",
    "off-by-one": lambda f, e: (
        f"{e} uses {f['was']}; with {f['wanted']} the sides agree"
        if "wanted" in f
        else f"{e}, {f['form']} along axis {f['axis']}, agrees with torch"
    ),
    "resize-convention": lambda f, e: (
        f"{e} runs with (align_corners, half_pixel_centers) = {f['was']}; with {f['wanted']} the "
        "sides agree"
    ),
    "switch": lambda f, e: _switched(f, e),
    "activation-slope": lambda f, e: _switched(f, e),
    "epsilon-value": lambda f, e: (
        _switched(f, e)
        if "switch" in f
        else f"{e} uses {f['was']:g}; with {f['wanted']} the sides agree"
    ),
    "option": lambda f, e: f"{f['name']} is {f['was']}; with {f['wanted']} the sides agree",
}


def _made_of(facts: Facts) -> str:
    """A mask as one writes it: ``1 - terminated[t]``."""
    mask = str(facts["mask"]).removesuffix(" from the end")
    mask = f"({mask})" if " " in mask else mask
    form = str(facts["form"])
    if form in ("mask", "inverse"):
        return mask if form == "mask" else f"1 - {mask}"
    return f"{form} of {mask}"


def _where(facts: Facts) -> str:
    """The elements that a mask leaves: ``labels != -100``, ``mask`` set."""
    mask, inverse = str(facts["mask"]), "inverse" in str(facts["form"])
    if " == " in mask:
        return mask.replace(" == ", " != ") if inverse else mask
    return f"{mask} {'not set' if inverse else 'set'}"


def _weighted(facts: Facts, expr: str) -> str:
    target = facts["target"]
    if "over" in facts:
        return (f"torch weighs {expr} by the weight of its label {target}, one of "
                f"{facts['weights']}, and divides by {facts['over']}")  # fmt: skip
    if "weights" in facts:
        return (f"torch weighs {expr} by {facts['weights']}, a weight for each column, where "
                f"{target} is 1")  # fmt: skip
    zeros = "" if facts["zeros"] == 1.0 else f" and by {facts['zeros']:g} where it is 0"
    ones = f"by {facts['ones']:g} " if facts["ones"] != 1.0 or not zeros else "by 1 "
    return f"with {expr} times {ones.removeprefix('by ')}where {target} is 1{zeros} the sides agree"


def _applied(facts: Facts, expr: str) -> str:
    what = (
        f"the input{'s' if ' and ' in facts['input'] else ''} {facts['input']}"
        if "input" in facts
        else expr
    )
    if "operands" in facts:
        count = "both operands" if facts["operands"] == 2 else "an operand"
        what = f"{count} of {expr}" if facts["operands"] <= 2 else f"the operands of {expr}"
    return f"torch applies {facts['operation']} to {what}; the tf side does not"


def _switched(facts: Facts, expr: str) -> str:
    return (f"{expr} runs with {facts['switch']}={said_value(facts['was'])}; with "
            f"{said_value(facts['wanted'])} the sides agree")  # fmt: skip


def _times(facts: Facts) -> str:
    factor = facts["coefficient"]
    return "" if factor == 1.0 else f"{factor:.6g} times "


def _tie(form: str) -> str:
    return {
        "shared": "shared among them",
        "one": "given to one of them",
        "first": "given to the first",
        "second": "given to the second",
    }.get(form, form)


def _short(name: Any) -> str:
    return str(name).removeprefix("output/")
