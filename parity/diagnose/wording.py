"""What a cause of a difference between functions says: the text, and the fix in the user's terms.

Hypotheses carry facts; every sentence is made here and in ``sentences``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from parity.debug.sites import Site
from parity.diagnose.causes import CAUSES
from parity.diagnose.fixes import FIXES
from parity.diagnose.optimizer_wording import optimizer_fix, optimizer_text
from parity.diagnose.sentences import SENTENCES, Facts, general_text, said_number, said_value

_LONGEST = 90


def as_cause(
    bench: Any,
    found: Any,
    others: Sequence[Any] = (),
    *,
    after: float | None = None,
    inside: bool = False,
) -> dict[str, Any]:
    """A finding as it stands in a report.

    Args:
        found: a ``Finding``, or a ``Direct`` cause.
        others: further findings that the data does not tell apart from it.
        after: the error that is left, where the finding does not know it.
        inside: it was found from values on the way, before the result became right.
    """
    hypothesis = getattr(found, "hypothesis", found)
    site: Site | None = getattr(hypothesis, "site", None)
    if after is None:
        after = found.after if hypothesis is found else found.score.at_first
        if hypothesis is not found and found.complete:
            after = found.score.error
    before = getattr(found, "before", None)
    alternatives = [
        {"cause": h.cause, "text": text_of(h.cause, h.facts, getattr(h, "site", None))}
        for h in (getattr(o, "hypothesis", o) for o in others)
        if h.cause != hypothesis.cause
    ]
    place = hypothesis.place or (site.place if site is not None else "")
    return {
        "cause": hypothesis.cause,
        "text": _named(bench, text_of(hypothesis.cause, hypothesis.facts, site)),
        "before": bench.before.at_first if before is None else before,
        "after": after,
        "fix": _named(bench, fix_of(hypothesis.cause, hypothesis.facts, site)),
        "place": place,
        "docs": CAUSES[hypothesis.cause].link,
        "alternatives": alternatives[:4],
        "inside": inside,
    }


def _named(bench: Any, text: str) -> str:
    """Inputs that were given without names, by the names of the parameters that take them."""
    names = bench.parameters

    def name(match: re.Match[str]) -> str:
        place = int(match[1])
        return names[place] if place < len(names) else match[0]

    return re.sub(r"\binput(\d+)\b", name, text)


def text_of(cause: str, facts: Facts, site: Site | None = None) -> str:
    """One or two sentences: what the tf side does, what torch does."""
    expr = _expression(site)
    say = SENTENCES.get(cause)
    head = CAUSES[cause].title
    if "setting" in facts and "torch_kind" in facts:
        return f"{head}: {optimizer_text(cause, facts)}"
    if "object" in facts:
        return f"{head}: {_object_text(facts)}"
    if "name" in facts and "was" in facts:
        return f"{head}: {_constant_text(facts, expr)}"
    if "source" in facts and "torch" in facts:
        return (f"{head}: from {facts['source']} torch makes {facts['entry']!r} "
                f"{_as(facts['torch'])}, the tf side {_as(facts['tf'])}")  # fmt: skip
    if "of" in facts and "wanted" in facts:
        return f"{head}: {expr} is {facts['was']}; torch's is {facts['wanted']}"
    if "factor" in facts:
        return f"{head}: {_factor_text(cause, facts, expr)}"
    if "relation" in facts:
        return f"{head}: torch's {facts['entry']!r} is {facts['relation']}"
    try:
        said = say(facts, expr) if say is not None else general_text(facts, expr)
    except KeyError:  # a cause found in a new way, for which there is no sentence yet
        said = f"a change at {expr} makes the sides agree"
    return f"{head}: {said}" if said else head


def _as(made: Any) -> str:
    return str(made) if str(made).startswith("as ") else f"as {made}"


def fix_of(cause: str, facts: Facts, site: Site | None = None) -> str:
    """What to change, in the user's terms."""
    expr = _expression(site)
    if "setting" in facts and "torch_kind" in facts:
        return optimizer_fix(cause, facts)
    if "object" in facts:
        call = f"{facts['object']}({facts['setting']}={said_value(facts['wanted'])})"
        return f"{call}; {CAUSES[cause].fix}"
    if facts.get("name") and "was" in facts:
        return f"{facts['name']} = {said_number(facts['wanted'])}; {CAUSES[cause].fix}"
    if "of" in facts and "wanted" in facts:
        return f"{facts['wanted']} in the place of {expr}; {CAUSES[cause].fix}"
    make = FIXES.get(cause)
    own = make(facts, expr) if make is not None else ""
    return f"{own}; {CAUSES[cause].fix}" if own else CAUSES[cause].fix


def _expression(site: Site | None) -> str:
    source = site.source if site is not None else ""
    if len(source) > _LONGEST:
        half = _LONGEST // 2 - 2
        source = f"{source[:half]} ... {source[-half:]}"
    return f"`{source}`" if source else "a value on the tf side"


def _constant_text(facts: Facts, expr: str) -> str:
    name = facts.get("name")
    what = (
        f"{name} is"
        if name
        else f"the number in {expr} is"
        if "operation" in facts
        else ("a literal is")
    )
    meaning = str(facts.get("meaning") or "")
    wanted = said_number(facts["wanted"])
    said = f" = {meaning}" if meaning and meaning != wanted else ""
    also = f" (torch: {facts['named']})" if facts.get("named") else ""
    was = said_number(facts["was"])
    return f"{what} {was} on the tf side; with {wanted}{said}{also} the sides agree"


def _object_text(facts: Facts) -> str:
    was, wanted = said_value(facts["was"]), said_value(facts["wanted"])
    meaning = f" ({facts['meaning']})" if facts.get("meaning") else ""
    return (f"{facts['object']} has {facts['setting']}={was}; with {facts['setting']}={wanted}"
            f"{meaning} the sides agree")  # fmt: skip


def _factor_text(cause: str, facts: Facts, expr: str) -> str:
    said = facts.get("meaning")
    if facts.get("name_of"):
        return (f"torch multiplies {expr} by {facts['name_of']}; the tf side does not"
                if cause == "missing-factor" else
                f"{expr} has the factor {facts['name_of']}, which torch lacks")  # fmt: skip
    if facts.get("both"):
        first, second = facts["both"]
        return (f"two factors: {expr} times {first} and `{facts['second']}` times {second} agree "
                "with torch")  # fmt: skip
    tail = {
        "ddof": "n - 1 in one variance, n in the other",
        "variance-bias": "torch averages the unbiased variance of the batch, Keras the biased one",
        "weighted-mean": "one side divides by the sum of the weights, the other by their number",
        "loss-reduction": "one side averages where the other sums, or over another number",
    }.get(cause, "")
    return f"{expr} times {said} agrees with torch" + (f": {tail}" if tail else "")
