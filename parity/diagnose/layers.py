"""Causes of differences between two modules: every fault is explained on its own recorded data.

The faults are already apart (each layer was fed with its partner's input, and the code between two
layers with torch's outputs), so those stacked on one path are explained in one go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from parity.debug import config, kinds, modules, values
from parity.debug.localise import BETWEEN, GRADIENT, LAYER, PARAMETER, Fault, Places
from parity.debug.matching import Match
from parity.debug.spatial import main
from parity.diagnose import (
    arrays,
    code_between,
    layer_settings,
    layer_state,
    layout_relations,
    present_torch,
)
from parity.diagnose.arrays import Source
from parity.diagnose.found import Found
from parity.diagnose.layer_wording import worded
from parity.diagnose.merging import merged
from parity.diagnose.variants import Bench, distance
from parity.report import Report
from parity.tolerance import explained_bound, float32_inside_bound


def explain_modules(
    report: Report, run: Any, places: Places, settings: Sequence[config.Setting]
) -> Report:
    """The report with the causes of its differences.

    Args:
        run: the run to explain, in float64 where there is one (``parity.debug.module_check.Run``).
        settings: configuration differences of the paired layers.
    """
    explained: list[tuple[Fault, list[Found]]] = []
    unexplained: list[str] = []
    causes: list[Mapping[str, Any]] = []
    different = bool(run.plan.problems)
    for fault in places.real:
        if different and fault.kind != LAYER:
            continue  # two networks that are not the same: their code need not be either
        found = _explain_fault(fault, run, settings)
        if found:
            explained.append((fault, found))
            continue
        by_code: list[dict[str, Any]] = []
        if fault.kind == LAYER and fault.match is not None and _is_code(fault.match):
            if not modules.is_recorded(run.pair.modules["tf"]):
                by_code = code_between.explain_own_layer(fault, fault.match, run)
        elif fault.kind not in (LAYER, GRADIENT):
            by_code = code_between.explain(fault, run)
        causes += by_code
        if not by_code:
            unexplained.append(fault.place)
    explained = _reordered(explained)
    for fault, found in explained:
        place = fault.place
        if found[0].cause == "layer-order":
            place = place.removesuffix("/input")
        causes += worded(place, fault.error, found, run)
    if not places.real and not report.passed:
        for place, before, found in layer_state.explain(run, settings):
            causes += worded(place, before, found, run)
    known = {(c["cause"], c["place"]) for c in causes}
    causes = [*(c for c in structure(run) if (c["cause"], c["place"]) not in known), *causes]
    if different:
        unexplained = []
    crossed = _called_in_another_order(run, places)
    if crossed and not report.passed:
        said = worded(places.real[0].place if places.real else "", 0.0, crossed, run)
        # no order but the one written was run: there is no error that it leaves
        told = [{k: v for k, v in c.items() if k not in ("before", "after")} for c in said]
        causes = [*told, *causes]
    subject = {**report.subject, "unexplained": unexplained}
    causes = merged(causes)
    if causes and causes[0]["cause"] == "layer-order":
        subject["place"] = causes[0]["place"]
    return report.with_(causes=(*report.causes, *causes), subject=subject)


def structure(run: Any) -> list[Mapping[str, Any]]:
    """Why two networks cannot be the same, as causes; the findings themselves say it in words."""
    found: list[Mapping[str, Any]] = []
    for problem in run.plan.problems:
        kind = str(problem.details.get("kind", ""))
        cause = "norm-missing" if kinds.is_norm(kind) and problem.kind == "layer-missing" else ""
        if problem.kind == "weight-missing" and problem.name.endswith("bias"):
            cause = "reset-after" if kind == "gru" else "bias-missing"
        found.append(
            {
                "cause": cause or problem.kind,
                "text": f"{problem.name} is not the same on both sides",
                "fix": "",
                "place": str(problem.details.get("layer", problem.name)),
                "docs": f"docs/porting.md#{cause or problem.kind}",
                "alternatives": [],
            }
        )
    return found


def _called_in_another_order(run: Any, places: Places) -> list[Found]:
    """Layers of one name on both sides that are called in another order."""
    calls = run.pair.records["tf"].calls
    where = {call.path: i for i, call in enumerate(calls)}
    paired = [(m.path, where[m.tf[0].path]) for m in run.matching.matches if m.weighted]
    ours = [path for path, _ in sorted(paired, key=lambda p: p[1])]
    theirs = [path for path, _ in paired]
    if ours == theirs:
        return []
    moved = {a for a, b in zip(ours, theirs, strict=True) if a != b}
    given = {f.match.path for f in places.real if f.kind == BETWEEN and f.match is not None}
    if not moved & given:
        return []  # each is given what torch's is: layers side by side, in any order
    return [Found("call-order", 0.0, {"torch": " ".join(theirs), "tf": " ".join(ours)}, rank=0.9)]


def _explain_fault(fault: Fault, run: Any, settings: Sequence[config.Setting]) -> list[Found]:
    if fault.kind == LAYER and fault.match is not None:
        if modules.is_recorded(run.pair.modules["tf"]):
            return present_torch.explain(fault.match, settings, run.pair.dtype)
        return explain_layer(fault, fault.match, run, settings)
    if fault.kind == PARAMETER:
        return [Found("initial-value", 0.0, {"name": fault.place})]
    if fault.kind == GRADIENT and fault.match is not None:
        return layer_state.explain_gradient(fault, fault.match, settings)
    exchanged = _exchanged(fault, _bound(run, fault))
    exchanged = exchanged or _other_output(fault, run, _bound(run, fault))
    if exchanged:
        return exchanged
    sources = _sources(run, fault)
    return arrays.explain(sources, fault.torch, fault.tf, _bound(run, fault), before=fault.error)


def _exchanged(fault: Fault, bound: float) -> list[Found]:
    """A layer's arguments in another order."""
    pairs = fault.inputs
    for i, (a, b) in enumerate(pairs):
        for j, (c, d) in enumerate(pairs[:i]):
            fits = a.shape == d.shape and c.shape == b.shape
            if fits and distance(a, d) <= bound and distance(c, b) <= bound < distance(a, b):
                return [Found("argument-order", distance(a, d), {"first": j, "second": i})]
    return []


def _other_output(fault: Fault, run: Any, bound: float) -> list[Found]:
    """Another of the tensors that a layer returns: the cell state for the hidden state."""
    for match in run.matching.matches:
        returned = match.outputs()
        arrays_ = [np.asarray(v.torch) for v in returned if v.torch is not None]
        if match is fault.match or len(arrays_) < 2 or fault.torch is None or fault.tf is None:
            continue
        left, right = np.asarray(fault.torch), np.asarray(fault.tf)
        taken = [i for i, a in enumerate(arrays_) if _same(a, left, bound)]
        given = [i for i, a in enumerate(arrays_) if _same(a, right, bound)]
        if taken and given and taken[0] != given[0]:
            facts = {"source": match.path, "torch": taken[0] + 1, "tf": given[0] + 1}
            return [Found("other-operand", 0.0, facts, rank=0.3)]
    return []


def _same(array: np.ndarray, wanted: np.ndarray, bound: float) -> bool:
    """Equal, axes of size one left out."""
    array, wanted = np.squeeze(array), np.squeeze(wanted)
    return distance(array, wanted) <= bound


def explain_layer(
    fault: Fault, match: Match, run: Any, settings: Sequence[config.Setting]
) -> list[Found]:
    """Causes that, tried on the real layer, remove its own error; best first."""
    bench = Bench(match, run.pair.dtype)
    own = [s for s in settings if s.layer == match.path and not s.training]
    found = layer_settings.explain(bench, own)
    found += layout_relations.explain(
        bench, layout_relations.tensors_by_layer(run.pair.records["torch"].calls)
    )
    tiers = (
        layer_settings.modes,
        layer_settings.inputs,
        layer_settings.masks,
        layer_settings.resizes,
    )
    for tier in tiers:
        found += tier(bench)
    if not any(f.cause.startswith("pooling-kind") for f in found):
        found += layer_settings.paddings(bench, own)
    if not found and not match.library:
        found += layer_settings.attributes(bench)
    if not found:
        found += _plain(bench, match, run, fault)
    return sorted(_unique(found), key=lambda f: f.rank)


def _plain(bench: Bench, match: Match, run: Any, fault: Fault) -> list[Found]:
    """A layer whose formula can be recognised from what goes in and what comes out."""
    given = match.inputs()
    if not given or np.asarray(given[0].torch).dtype.kind != "f":
        return []
    sources = [Source(match.path, np.asarray(given[0].torch))]
    left, right = fault.torch, fault.tf
    if left is None or right is None:
        return []
    return arrays.explain(sources, left, right, _bound(run, fault), before=fault.error)


def _is_code(match: Match) -> bool:
    """Layers of the user's own, or a function in a Lambda."""
    call = main(match, "tf")
    return kinds.describe(call.kind, call.layer)[0] == kinds.CODE and not match.library


def _unique(found: Sequence[Found]) -> list[Found]:
    """The best of each cause; several tensors or settings of one cause stay apart by name."""
    best: dict[tuple[str, str], Found] = {}
    for f in found:
        key = f.cause, str(f.facts.get("name", ""))
        if key not in best or f.rank < best[key].rank:
            best[key] = f
    return list(best.values())


def _bound(run: Any, fault: Fault) -> float:
    values = np.asarray(fault.torch, dtype=np.float64)
    finite = np.abs(values[np.isfinite(values)])
    scale = float(finite.max(initial=0.0))
    bound = explained_bound(run.pair.dtype, scale)
    return max(bound, float32_inside_bound(scale)) if run.pair.dtype == "float64" else bound


def _sources(run: Any, fault: Fault) -> list[Source]:
    """What both sides had before the place: the nearest first, then the model's inputs."""
    found: list[Source] = []
    before: list[Match] = []
    for match in run.matching.matches:
        if match is fault.match and fault.kind == BETWEEN:
            break
        before.append(match)
    for match in reversed(before[-12:]):
        call = main(match, "torch")
        family, name = kinds.describe(call.kind, call.layer)
        made = [v.torch for v in match.outputs()] + values.flat(match.torch[-1].output)[:1]
        seen: set[int] = set()
        for array in made:
            if array is not None and id(array) not in seen and np.asarray(array).dtype.kind == "f":
                seen.add(id(array))
                function = name if family == kinds.ACTIVATION else ""
                found.append(Source(match.path, np.asarray(array), function))
    found += _inputs_known(run, before)
    for index, array in enumerate(run.pair.inputs["torch"]):
        typed = modules.typed(array, run.pair.dtype)
        if typed.dtype.kind == "f":
            found.append(Source(f"input {index}", typed))
    return found


def _inputs_known(run: Any, before: Sequence[Match]) -> list[Source]:
    """What layers before the place were given, alike on both sides: sums behind a residual."""
    found = []
    for match in reversed(before[-12:]):
        for value in match.inputs():
            if value.torch is None or value.tf is None:
                continue
            left, right = np.asarray(value.torch), np.asarray(value.tf)
            if left.dtype.kind != "f" or left.shape != right.shape:
                continue
            if distance(left, right) <= explained_bound(run.pair.dtype, float(np.abs(left).max())):
                found.append(Source(f"{match.path}'s input", left))
    return found


def _reordered(
    explained: Sequence[tuple[Fault, list[Found]]],
) -> list[tuple[Fault, list[Found]]]:
    """An activation too many here and one too few there: the layers stand in another order."""
    made: list[tuple[Fault, list[Found]]] = []
    used: set[int] = set()
    for i, (fault, found) in enumerate(explained):
        if i in used:
            continue
        partner = None
        for j in range(i + 1, len(explained)):
            names = found[0].cause, explained[j][1][0].cause
            if set(names) == {"activation-extra", "activation-missing"} and j not in used:
                partner = j
                break
        if partner is None:
            made.append((fault, found))
            continue
        used.add(partner)
        other = explained[partner][1][0]
        function = found[0].facts["tf" if found[0].cause == "activation-extra" else "torch"]
        again = other.facts["torch" if other.cause == "activation-missing" else "tf"]
        if function == again:
            facts = {"function": function, "places": [fault.place, explained[partner][0].place]}
            both = Found("layer-order", max(found[0].after, other.after), facts, rank=0.1)
            made.append((fault, [both]))
        else:
            made += [(fault, found), explained[partner]]
    return made


__all__ = ["explain_layer", "explain_modules"]
