"""Hypotheses about numbers: a constant of the code, a factor, a constant of an operation."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np

from parity.debug.sites import Site
from parity.diagnose.base import Bench, Change, Hypothesis
from parity.diagnose.constants import Constant, constants_of, put
from parity.diagnose.numbers import Meaning, constant_meaning, factor_meaning, relatives, same
from parity.diagnose.operations import calls, floating, suspects_first
from parity.tolerance import SAME_NUMBER

_NEWTON = 8
_TAU = re.compile(r"tau|polyak|rho|decay|soft|ema|momentum|beta", re.IGNORECASE)
_MOST_CANDIDATES = 24


def close(bench: Bench) -> float:
    """Numbers found from data are known to the precision of the run."""
    return SAME_NUMBER * (0.01 if bench.bound_dtype == "float64" else 3.0)


def torch_numbers(bench: Bench) -> list[tuple[str, float]]:
    """Numbers of the torch side: by name from its code, and from its operations."""
    caller = bench.callers["torch"]
    found = [
        (c.name or f"{float(c.value):.6g}", float(c.value))
        for c in constants_of(_made(bench, "torch"), caller.subject.factory)
        if not isinstance(c.value, bool)
    ]
    for value in bench.theirs:
        numbers = value.call.numbers if value.call is not None else ()
        found += [(f"{n:.6g}", n) for n in numbers if np.isfinite(n) and abs(n) < 1e6]
    found += _settings(bench)
    unique: dict[float, str] = {}
    for name, number in found:
        unique.setdefault(number, name)
    return [(name, number) for number, name in unique.items()]


def _settings(bench: Bench) -> list[tuple[str, float]]:
    return [
        (f"{owner}.{name}", float(value))
        for owner, settings in bench.torch_settings
        for name, value in settings.items()
        if isinstance(value, (int, float)) and not isinstance(value, bool)
    ]


def _made(bench: Bench, side: str) -> Any:
    caller = bench.callers[side]
    try:
        return caller.made(bench.dtype, bench.inputs[side])
    except Exception:
        return caller.subject.value


def tf_constants(bench: Bench) -> list[Constant]:
    return constants_of(_made(bench, "tf"), bench.callers["tf"].subject.factory)


def setting(bench: Bench, values: dict[str, Any]) -> Change:
    """A change that gives some constants of the tf side's code other values."""
    caller = bench.callers["tf"]

    def altered(made: Any) -> AbstractContextManager[None]:
        return put(constants_of(made), values)

    @contextmanager
    def inside() -> Iterator[None]:
        before = caller.alter
        caller.alter = altered
        try:
            with put(constants_of(None, caller.subject.factory), values):
                yield
        finally:
            caller.alter = before

    return Change(inside=(inside,))


def named_constants(bench: Bench) -> Iterator[Hypothesis]:
    """A number in the code of the tf side, set to one of torch's or to a relative of its own."""
    theirs = torch_numbers(bench)
    for constant in sorted(tf_constants(bench), key=lambda c: c.name == ""):
        if isinstance(constant.value, (bool, np.bool_)):
            continue
        if isinstance(constant.value, (int, np.integer)):
            yield from _integer(bench, constant, theirs)
        else:
            yield from _floating(bench, constant, theirs)


def _integer(
    bench: Bench, constant: Constant, theirs: Sequence[tuple[str, float]]
) -> Iterator[Hypothesis]:
    old = int(constant.value)
    if not constant.name and constant.where and abs(old) > 64:
        return
    scalars = _powers(bench)
    named = {n: v for n, v in theirs if v == int(v) and 0 < abs(v) < 1000 and not n[:1].isdigit()}
    options = [*(int(v) for n, v in named.items() if n == constant.name), old + 1, old - 1]
    options += [int(v) for v in named.values()]
    for new in dict.fromkeys(options):
        if new == old:
            continue
        kind = "off-by-one" if abs(new - old) == 1 else "constant"
        if any(index == 1 and v == old and s.op == "Pow" for s, index, v in scalars):
            kind = "exponent"
        meaning = Meaning(kind, str(new))
        change = setting(bench, {constant.key: new})
        yield _constant_hypothesis(bench, constant, new, meaning, change, 1.3)


def _powers(bench: Bench) -> list[tuple[Site, int, float]]:
    """Exponents of the tf side, which are integers like any other in its code."""
    from parity.backends import tf_edits as edits

    found = []
    for site, values in bench.sites.items():
        for index, operand in enumerate(values[0].call.inputs if site.op == "Pow" else ()):
            array = edits.array(operand)
            if array is not None and array.ndim == 0:
                found.append((site, index, float(array)))
    return found


def _floating(
    bench: Bench, constant: Constant, theirs: Sequence[tuple[str, float]]
) -> Iterator[Hypothesis]:
    old = float(constant.value)
    options: list[tuple[Meaning, float, float]] = [
        (Meaning("constant", name), number, 0.7 if name == constant.name else 0.9)
        for name, number in theirs
        if number != old and not name[:1].isdigit()
    ]
    options += [
        (Meaning("constant", name), number, 1.05)
        for name, number in theirs
        if number != old and name[:1].isdigit() and not float(number).is_integer()
    ]
    options = options[:_MOST_CANDIDATES]
    options += [(meaning, number, 1.0) for meaning, number in relatives(old)]
    for meaning, new, rank in options:
        if not np.isfinite(new) or new == old:
            continue
        said = constant_meaning(old, new)
        if (
            meaning.kind == "constant"
            and said is not None
            and said.kind in ("power", "complement", "sign", "two")
        ):
            meaning = Meaning(said.kind, said.text, {**said.facts, "named": meaning.text})
        change = setting(bench, {constant.key: new})
        yield _constant_hypothesis(bench, constant, new, meaning, change, rank)


def _constant_hypothesis(
    bench: Bench, constant: Constant, new: Any, meaning: Meaning, change: Change, rank: float
) -> Hypothesis:
    facts = {
        "name": constant.name,
        "was": constant.value,
        "wanted": new,
        "meaning": meaning.text,
        "where": constant.where,
        **meaning.facts,
    }
    if not constant.name:
        rank += 0.15
    cause = constant_cause(meaning, constant.name, float(constant.value))
    return Hypothesis(cause, change, facts, None, rank, constant.where)


def constant_cause(meaning: Meaning, name: str, old: float) -> str:
    """Which known mistake a changed number is, from its relation and the name that it bears."""
    word = (name or (meaning.text if meaning.text.isidentifier() else "")).lower()
    if "gamma" in word:
        return (
            "discount-power"
            if meaning.kind == "power"
            else ("discount" if 0.0 < old < 1.0 else "loss-constant")
        )
    if meaning.kind == "exponent":
        return "extra-operation" if meaning.text == "1" else "constant"
    if meaning.kind == "off-by-one":
        return "off-by-one"
    if meaning.kind == "power" and 0 < old < 1:
        return "discount-power"
    if old == 0.0 and not word and meaning.kind in ("constant", "number"):
        return "missing-term"
    if meaning.kind == "inverse":
        return "other-operation"
    if meaning.kind == "complement":
        if "momentum" in word:
            return "norm-momentum"
        if old not in (0.0, 1.0):
            return "tau-swapped" if word in ("tau", "polyak", "rho", "decay") else "complement"
    for words, cause in _WORDS:
        if any(part in word for part in words):
            return cause
    if meaning.kind == "two" and abs(old) in _FACTORS:
        return "factor-two"
    if meaning.kind == "sign":
        return "sign"
    if meaning.kind == "none" and not word:
        return "extra-term"
    return "constant-factor" if old == 1.0 else "constant"


_FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)
"""What these hold may well be a factor; others are numbers of their own."""
_WORDS: tuple[tuple[tuple[str, ...], str], ...] = (
    (("start", "init", "accum"), "initial-value"),
    (("eps",), "epsilon-value"),
    (("discount",), "discount"),
    (("margin", "delta", "temperature"), "loss-constant"),
    (("tau", "polyak"), "tau-value"),
    (("smooth",), "label-smoothing"),
    (("lr", "learning_rate"), "learning-rate"),
    (("l2", "weight_decay", "wd"), "weight-decay-value"),
    (("beta1", "beta_1", "beta2", "beta_2"), "adam-beta"),
)


def solved_constants(bench: Bench) -> Iterator[Hypothesis]:
    """A number in the code, solved for: the value under which the sides agree."""
    theirs = torch_numbers(bench)
    for constant in tf_constants(bench):
        if isinstance(constant.value, (bool, np.bool_, int, np.integer)):
            continue
        old = float(constant.value)

        def change(value: float, key: str = constant.key) -> Change:
            return setting(bench, {key: value})

        new = solve(bench, change, old)
        if new is None or same(new, old, close(bench)):
            continue
        meaning = constant_meaning(old, new, constants=theirs, close=close(bench))
        sizes = {n for a in bench.inputs["tf"].values() for n in (*np.shape(a), np.size(a))}
        times = factor_meaning(new / old, sizes=sizes, close=close(bench)) if old else None
        if times is not None and (meaning is None or meaning.kind == "number"):
            facts = {"factor": new / old, "meaning": times.text, **times.facts}
            causes = {"two": "factor-two", "size": "loss-reduction", "bessel": "ddof"}
            cause = causes.get(times.kind, "constant-factor")
            yield Hypothesis(cause, change(new), facts, None, 1.15, constant.where)
            continue
        rank = 1.2 if meaning is not None else 1.8
        meaning = meaning or Meaning("number", f"{new:.8g}")
        yield _constant_hypothesis(bench, constant, new, meaning, change(new), rank)


def solve(bench: Bench, change: Callable[..., Change], start: float) -> float | None:
    """The number under which the tf side comes nearest to torch, by Gauss and Newton."""
    names = [bench.first] if bench.first is not None else []
    step = 1e-4 if bench.bound_dtype == "float64" else 1e-2
    x = start
    for turn in range(_NEWTON):
        if bench.expired:
            return None
        delta = step * max(abs(x), 0.1)
        here, there = bench.traced(change(x)), bench.traced(change(x + delta))
        r0 = None if here is None else bench.residual(here, names)
        r1 = None if there is None else bench.residual(there, names)
        if r0 is None or r1 is None:
            return None
        slope = (r1 - r0) / delta
        power = float(slope @ slope)
        if power == 0.0:
            return None
        move = -float(slope @ r0) / power
        left = r0 + slope * move
        if turn == 0 and float(left @ left) > 0.25 * float(r0 @ r0):
            return None  # not even near: the difference is of another kind
        x += move
        if abs(move) <= 1e-14 * max(abs(x), 1e-30):
            break
        step = max(step * 0.1, 1e-7 if bench.bound_dtype == "float64" else 1e-2)
    return x


def operation_constants(bench: Bench) -> Iterator[Hypothesis]:
    """A constant operand of an operation, where the code shows no name for it."""
    theirs = torch_numbers(bench)
    for site, index, old in scalar_operands(bench):
        options = [(Meaning("constant", n), v) for n, v in theirs if not float(v).is_integer()]
        options = options[:_MOST_CANDIDATES] + list(relatives(old))
        for meaning, new in options:
            if np.isfinite(new) and new != old:
                change = Change((_constant_edit(site, index, new),))
                yield _site_constant(bench, site, old, new, meaning, change, 1.25)


def complements(bench: Bench) -> Iterator[Hypothesis]:
    """Two constants that add up to one (a blend), changed together."""
    theirs = [v for _, v in torch_numbers(bench) if 0.0 <= v <= 1.0][:_MOST_WEIGHTS]
    found = [(s, i, v) for s, i, v in scalar_operands(bench)
             if 0.0 <= v <= 1.0 and not _in_formula(s)]  # fmt: skip
    groups: dict[float, list[tuple[Site, int, float]]] = {}
    for site, index, value in found:
        groups.setdefault(round(min(value, 1.0 - value), 12), []).append((site, index, value))
    for members in groups.values():
        values = {round(v, 12) for _, _, v in members}
        if len(values) < 2:
            continue
        small = min(v for _, _, v in members)
        if not 1e-5 < small < 0.5:  # smaller ones are guards, not the weights of a blend
            continue
        named = _name_of(bench, small)
        for new in dict.fromkeys([1.0 - small, *theirs, 0.0, 1.0]):
            for which in ("all", "first", "later"):
                yield from _blend(members, small, new, which, named)


def ignored_arguments(bench: Bench) -> Iterator[Hypothesis]:
    """A constant that weighs a difference (a blend), other at the first turn or at later ones."""
    from parity.backends import tf_edits as edits

    theirs = [v for _, v in torch_numbers(bench) if 0.0 <= v <= 1.0]
    for site, index, old in scalar_operands(bench):
        if site.op != "Mul" or len(bench.sites[site]) < 2 or not 0.0 < old < 1.0:
            continue
        if not _weighs_difference(bench, site, 1 - index):
            continue
        for new in dict.fromkeys([1.0, 0.0, *theirs, 1.0 - old]):
            for which, chosen in (("first", lambda k: k == 0), ("later", lambda k: k > 0)):
                if new == old:
                    continue
                change = edits.at(site, _constant_change(index, new), chosen)
                facts = {"was": old, "wanted": new, "which": which}
                yield Hypothesis("tau-ignored", Change((change,)), facts, site, 0.9)


def _weighs_difference(bench: Bench, site: Site, index: int) -> bool:
    """Whether an operand is a difference of two arrays, as in a + rate * (b - a)."""
    operand = calls(bench, site)[0].call.inputs[index]
    for call in bench.calls:
        if any(o is operand for o in call.outputs):
            return call.op == "Sub" and all(np.ndim(x) > 0 for x in call.inputs)
    return False


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
        trace = bench.traced(Change((_scaled(site, 2.0),)))
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
            said = " and ".join(m.text for m in meanings if m is not None)
            change = Change((_scaled(a, factors_[0]), _scaled(b, factors_[1])))
            facts = {"factor": factors_[0], "meaning": said, "second": b.source}
            yield Hypothesis("constant-factor", change, facts, a, 1.3)


_MOST_COLUMNS = 12
_MOST_WEIGHTS = 8


def _name_of(bench: Bench, value: float) -> str:
    """What the code calls a number or its complement."""
    for constant in tf_constants(bench):
        if constant.name and not isinstance(constant.value, bool):
            if any(same(float(constant.value), v) for v in (value, 1.0 - value)):
                return constant.name
    return ""


def _blend(
    members: Sequence[tuple[Site, int, float]], small: float, new: float, which: str, named: str
) -> Iterator[Hypothesis]:
    from parity.backends import tf_edits as edits

    if abs(new - small) < 1e-12:
        return
    chosen = {"all": None, "first": lambda k: k == 0, "later": lambda k: k > 0}[which]
    changes = []
    for site, index, value in members:
        wanted = new if abs(value - small) < 1e-9 else 1.0 - new
        changes.append(edits.at(site, _constant_change(index, wanted), chosen))
    swapped = abs(new - (1.0 - small)) < 1e-9
    cause = "tau-swapped" if swapped else "tau-ignored" if which != "all" else "tau-value"
    if named and cause == "tau-swapped" and not _TAU.search(named):
        cause = "complement"
    facts = {"was": small, "wanted": new, "which": which}
    rank = 0.6 if swapped and which == "all" else 0.9
    yield Hypothesis(cause, Change(tuple(changes)), facts, members[0][0], rank)


def scalar_operands(bench: Bench) -> list[tuple[Site, int, float]]:
    """Operands that are plain numbers: (site, index of the operand, value)."""
    from parity.backends import tf_edits as edits

    made = {id(o) for c in bench.calls for o in c.outputs}
    given = {float(a) for a in bench.inputs["tf"].values() if np.ndim(a) == 0}
    found = []
    for site in suspects_first(bench):
        for value in calls(bench, site)[:1]:
            for index, operand in enumerate(value.call.inputs):
                if isinstance(operand, (bool, list, tuple)) or id(operand) in made:
                    continue
                array = edits.array(operand)
                if (
                    array is None
                    or array.ndim
                    or array.dtype.kind not in "f"
                    and not (isinstance(operand, int) and site.op in ("Pow", "Fill"))
                ):
                    continue
                if float(array) not in given:
                    found.append((site, index, float(array)))
    return found


def _constant_change(index: int, value: float) -> Callable[[Any], Any]:
    from parity.backends import tf_edits as edits

    def change(call: Any) -> Any:
        inputs = list(call.inputs)
        inputs[index] = edits.constant_like(value, inputs[index])
        return call.run(inputs)

    return change


def _constant_edit(site: Site, index: int, value: float) -> Any:
    from parity.backends import tf_edits as edits

    return edits.at(site, _constant_change(index, value))


def _site_constant(
    bench: Bench, site: Site, old: float, new: float, meaning: Meaning, change: Change, rank: float
) -> Hypothesis:
    facts = {"was": old, "wanted": new, "meaning": meaning.text, "name": "", "where": site.place,
             "operation": site.op, **meaning.facts}  # fmt: skip
    cause = constant_cause(meaning, "", old)
    if site.op == "Fill" or site.within("add_variable_from_reference"):
        cause = "initial-value"
    elif 0 < abs(old) < 0.01 and 0 <= abs(new) < 0.01:
        cause = "epsilon-value"
    return Hypothesis(cause, change, facts, site, rank)


def solved_operands(bench: Bench) -> Iterator[Hypothesis]:
    """A constant operand, solved for."""
    theirs = torch_numbers(bench)
    for site, index, old in scalar_operands(bench):

        def change(value: float, site: Site = site, index: int = index) -> Change:
            return Change((_constant_edit(site, index, value),))

        new = solve(bench, change, old)
        if new is None or same(new, old, close(bench)):
            continue
        meaning = constant_meaning(old, new, constants=theirs, close=close(bench))
        rank = 1.4 if meaning is not None else 2.0
        meaning = meaning or Meaning("number", f"{new:.8g}")
        yield _site_constant(bench, site, old, new, meaning, change(new), rank)


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
                cause = "variance-bias" if _in_normalisation(site) else "ddof"
                yield Hypothesis(cause, Change((_scaled(site, factor),)), facts, site, 1.0)


def _is_variance(site: Site) -> bool:
    names = ("reduce_variance", "reduce_std", "moments", "var", "std", "normalize_moments")
    return site.op == "SquaredDifference" or any(code.co_name in names for code, _ in site.chain)


def named_factors(bench: Bench) -> Iterator[Hypothesis]:
    """A factor that bears a name on the torch side, missing or superfluous on the tf side."""
    named = [(n, v) for n, v in torch_numbers(bench)
             if not n[:1].isdigit() and not n.startswith("-") and v not in (0.0, 1.0)
             and "." not in n][:6]  # fmt: skip
    for site in suspects_first(bench):
        if not floating(bench, site) or site.op in ("ReadVariableOp", "Identity", "Fill"):
            continue
        for name, value in named:
            for text, factor in ((name, value), (f"1/{name}", 1.0 / value)):
                facts = {"factor": factor, "meaning": text, "name_of": name}
                cause = "missing-factor" if text == name else "extra-factor"
                if any(word in name.lower() for word in ("gamma", "discount")):
                    cause = "discount-power"
                elif float(value).is_integer():
                    cause = "constant-factor"
                yield Hypothesis(cause, Change((_scaled(site, factor),)), facts, site, 1.1)


def _in_formula(site: Site) -> bool:
    """In code of Keras where two numbers that add up to one are no blend of the user's."""
    return _in_normalisation(site) or any(
        "keras" in code.co_filename and "losses" in code.co_filename for code, _ in site.chain
    )


def _in_normalisation(site: Site) -> bool:
    return any("batch_normalization" in code.co_filename for code, _ in site.chain)


def factors(bench: Bench) -> Iterator[Hypothesis]:
    """A factor on one value, solved for and read: 2, the batch size, n/(n-1), 1/sum(weights)."""
    theirs = torch_numbers(bench)
    for site in suspects_first(bench):
        if not floating(bench, site) or site.op in ("ReadVariableOp", "Identity", "Fill"):
            continue

        def change(factor: float, site: Site = site) -> Change:
            return Change((_scaled(site, factor),))

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


def _scaled(site: Site, factor: float) -> Any:
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
