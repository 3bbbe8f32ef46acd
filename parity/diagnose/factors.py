"""Hypotheses about a factor on one value: 2, a size, n / (n - 1), a number with a name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from parity.debug.sites import Site
from parity.diagnose.bench import Bench
from parity.diagnose.hypotheses import Change, Hypothesis
from parity.diagnose.known_numbers import close, solve, torch_numbers
from parity.diagnose.numbers import Meaning, factor_meaning, same
from parity.diagnose.operand_constants import scalar_operands
from parity.diagnose.suspects import calls, floating, suspects_first


def paired_factors(bench: Bench) -> Iterator[Hypothesis]:
    """Two values that each lack a factor, in one sum: dt on the drift, its root on the noise."""
    if bench.first is None:
        return
    names = [bench.first]
    base = bench.traced(Change())
    r0 = None if base is None else bench.residual(base, names)
    if r0 is None or r0.size < 3:
        return
    columns: list[tuple[Site, np.ndarray]] = []
    for site in suspects_first(bench):
        if not floating(bench, site) or site.op in ("ReadVariableOp", "Identity", "Fill"):
            continue
        trace = bench.traced(Change((scaled(site, 2.0),)))
        r = None if trace is None else bench.residual(trace, names)
        if r is not None and np.any(r != r0):
            columns.append((site, r - r0))
        if len(columns) >= _MOST_COLUMNS or bench.expired:
            break
    theirs = torch_numbers(bench)
    for i, (a, left) in enumerate(columns):
        for b, right in columns[i + 1 :]:
            matrix = np.stack([left, right], 1)
            found, *_ = np.linalg.lstsq(matrix, -r0, rcond=None)
            if np.abs(matrix @ found + r0).max() > 1e-6 * np.abs(r0).max():
                continue
            factors_ = [1.0 + float(x) for x in found]
            meanings = [factor_meaning(f, constants=theirs, close=close(bench)) for f in factors_]
            if any(m is None for m in meanings) or 1.0 in factors_:
                continue
            texts = [m.text for m in meanings if m is not None]
            said = " and ".join(texts)
            change = Change((scaled(a, factors_[0]), scaled(b, factors_[1])))
            facts = {"factor": factors_[0], "meaning": said, "second": b.source, "both": texts}
            yield Hypothesis("constant-factor", change, facts, a, 1.3)


_MOST_COLUMNS = 12


def sample_sizes(bench: Bench) -> Iterator[Hypothesis]:
    """A variance divided by n in place of n - 1, wherever it goes."""
    from parity.backends import tf_edits as edits

    sizes: list[int] = []
    if not any(_is_variance(site) for site in bench.sites):
        return
    for site in bench.sites:
        value = next(iter(calls(bench, site)), None)
        if value is not None and site.op in ("Mean", "Sum") and value.array.size:
            given = edits.array(value.call.inputs[0])
            if given is not None and given.size // value.array.size > 1:
                sizes.append(given.size // value.array.size)
    for site in suspects_first(bench):
        if not floating(bench, site) or site.op in ("ReadVariableOp", "Identity", "Fill"):
            continue
        for n in list(dict.fromkeys(sizes))[:3]:
            for text, factor in ((f"{n}/{n - 1}", n / (n - 1)), (f"{n - 1}/{n}", (n - 1) / n)):
                facts = {"factor": factor, "meaning": text, "n": n}
                cause = "variance-bias" if in_normalisation(site) else "ddof"
                yield Hypothesis(cause, Change((scaled(site, factor),)), facts, site, 1.0)


def _is_variance(site: Site) -> bool:
    names = ("reduce_variance", "reduce_std", "moments", "var", "std", "normalize_moments")
    return site.op == "SquaredDifference" or any(code.co_name in names for code, _ in site.chain)


def named_factors(bench: Bench) -> Iterator[Hypothesis]:
    """A factor that bears a name on the torch side, missing or superfluous on the tf side."""
    named = [(n, v) for n, v in torch_numbers(bench)
             if not n[:1].isdigit() and not n.startswith("-") and v not in (0.0, 1.0)
             and "." not in n][:6]  # fmt: skip
    yield from _times(bench, named, 1.1)


def literal_factors(bench: Bench) -> Iterator[Hypothesis]:
    """The same with a number that bears no name: solved for, and believed where it stands in
    torch's code or is a short decimal."""
    literal = [v for n, v in torch_numbers(bench) if n[:1].isdigit() and v not in (0.0, 1.0)]
    for site in suspects_first(bench):
        if not floating(bench, site) or site.op in ("ReadVariableOp", "Identity", "Fill"):
            continue

        def change(factor: float, site: Site = site) -> Change:
            return Change((scaled(site, factor),))

        factor = solve(bench, change, 1.0)
        if factor is None or same(factor, 1.0, close(bench)) or _is_integral(factor):
            continue  # whole numbers are sizes, signs and twos, read elsewhere
        wanted = [v for v in (*literal, round(factor, 3)) if v and 0 < v < 1]
        for value in dict.fromkeys(wanted):
            for cause, number in (("missing-factor", value), ("extra-factor", 1.0 / value)):
                if same(factor, number, close(bench)):
                    facts: dict[str, Any] = {"factor": number, "meaning": f"{number:g}"}
                    if _is_power(bench, value):
                        cause = "discount-power"  # both sides have it, raised otherwise
                    elif number != value and value in literal:
                        # torch divides by it, and the tf side does not have it at all
                        cause, facts["meaning"] = "constant-factor", f"1/{value:g}"
                    else:
                        facts["name_of"] = f"{value:g}"
                    yield Hypothesis(cause, change(number), facts, site, 1.15)


def _is_power(bench: Bench, value: float) -> bool:
    """Whether it is a number between 0 and 1 of the tf side's code, or a power of one."""
    own = {v for _, _, v in scalar_operands(bench) if 0.0 < v < 1.0}
    return any(same(value, v**n, close(bench)) for v in own for n in range(1, 9))


def _is_integral(factor: float) -> bool:
    return any(same(x, round(x)) for x in (2 * factor, 2 / factor) if round(x))


def _times(bench: Bench, numbers: Sequence[tuple[str, float]], rank: float) -> Iterator[Hypothesis]:
    for site in suspects_first(bench):
        if not floating(bench, site) or site.op in ("ReadVariableOp", "Identity", "Fill"):
            continue
        for name, value in numbers:
            for text, factor in ((name, value), (f"1/{name}", 1.0 / value)):
                facts = {"factor": factor, "meaning": text, "name_of": name}
                cause = "missing-factor" if text == name else "extra-factor"
                if any(word in name.lower() for word in ("gamma", "discount")):
                    cause = "discount-power"
                elif float(value).is_integer():
                    cause = "constant-factor"
                yield Hypothesis(cause, Change((scaled(site, factor),)), facts, site, rank)


def in_normalisation(site: Site) -> bool:
    return any("batch_normalization" in code.co_filename for code, _ in site.chain)


def factors(bench: Bench) -> Iterator[Hypothesis]:
    """A factor on one value, solved for and read: 2, the batch size, n/(n-1), 1/sum(weights)."""
    theirs = torch_numbers(bench)
    for site in suspects_first(bench):
        if not floating(bench, site) or site.op in ("ReadVariableOp", "Identity", "Fill"):
            continue

        def change(factor: float, site: Site = site) -> Change:
            return Change((scaled(site, factor),))

        known = next((v.factor for v in bench.sites[site] if v.factor is not None), None)
        factor = solve(bench, change, known[1] if known is not None else 1.0)
        if factor is None or same(factor, 1.0, close(bench)):
            continue
        meaning = factor_meaning(
            factor,
            sizes=_sizes(bench, site),
            sums=_sums(bench),
            constants=theirs,
            close=close(bench),
        )
        facts = {"factor": factor, "meaning": meaning.text if meaning else f"{factor:.8g}"}
        facts.update(meaning.facts if meaning else {})
        cause, rank = _factor_cause(meaning, site)
        bound = meaning is not None and meaning.kind == "sum"
        yield Hypothesis(cause, change(factor), facts, site, rank, bound=bound)


def scaled(site: Site, factor: float) -> Any:
    """The edit that multiplies what a place makes."""
    from parity.backends import tf_edits as edits

    def scale(value: Any) -> Any:
        if not getattr(value, "dtype", None) or not value.dtype.is_floating:
            return value
        return value * edits.constant_like(factor, value)

    return edits.at(site, edits.after(scale))


def _factor_cause(meaning: Meaning | None, site: Site) -> tuple[str, float]:
    kinds = {
        "sign": ("sign", 1.2),
        "two": ("factor-two", 1.2),
        "size": ("loss-reduction", 1.3),
        "bessel": ("ddof", 1.1),
        "root-bessel": ("ddof", 1.1),
        "sum": ("weighted-mean", 1.3),
        "constant": ("constant-factor", 1.6),
        "number": ("constant-factor", 1.5),
    }
    return kinds[meaning.kind] if meaning is not None else ("unexplained-factor", 2.5)


def _sizes(bench: Bench, site: Site) -> list[int]:
    from parity.backends import tf_edits as edits

    sizes: list[int] = []
    arrays = [np.asarray(a) for a in bench.inputs["tf"].values()]
    for value in bench.sites[site][:1]:
        arrays.append(value.array)
        for operand in value.call.inputs if value.call is not None else ():
            array = edits.array(operand)
            if array is not None:
                arrays.append(array)
    for array in arrays:
        sizes += [*array.shape, array.size]
        if array.ndim > 1:
            sizes += [int(np.prod(array.shape[:-1])), array.size // array.shape[1]]
    return [s for s in dict.fromkeys(sizes) if s > 1]


def _sums(bench: Bench) -> list[tuple[str, float]]:
    from parity.backends import tf_edits as edits

    found = [
        (name, float(np.sum(a)))
        for name, a in bench.inputs["tf"].items()
        if np.asarray(a).dtype.kind in "fiub" and np.size(a) > 1
    ]
    for value in bench.ours:
        for operand in value.call.inputs if value.call is not None else ():
            array = edits.array(operand)
            if array is not None and array.dtype.kind == "f" and 1 < array.size < 10_000:
                found.append((value.source[:40] or value.op, float(array.sum())))
    return list({v: (n, v) for n, v in reversed(found)}.values())[:60]
