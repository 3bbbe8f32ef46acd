"""``parity.check``: find out what two sides are, run them in both precisions, and judge.

The float32 run is what the user sees; the float64 run of the same objects, with the same weights
and inputs, tells whether a difference is rounding, and shows differences that the data hides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import numpy as np

from parity import weights
from parity.backends import get_backend
from parity.debug import axes, modules
from parity.debug.inputs import as_arrays
from parity.debug.modules import SIDES, Match, Pair
from parity.debug.precision import Twin, keras_twin, torch_twin
from parity.debug.rounding import rounding_tolerances
from parity.debug.subjects import Subject, describe, load, resolve, takes_nothing
from parity.errors import InvalidInput, MissingFramework, TransferError
from parity.report import Report, build_report, judge
from parity.trace import Trace

WEIGHTS = ("copy", "keep")


def check(
    torch: Any,
    tf: Any,
    inputs: Any = None,
    *,
    training: bool = False,
    steps: int = 5,
    transfer: str = "copy",
    names: Mapping[str, str] | None = None,
    seed: int = 0,
) -> Report:
    """Compare a PyTorch side and a TensorFlow side, layer by layer, in float32 and float64.

    Args:
        torch, tf: modules, callables, zero-argument factories of these, or strings such as
            ``"file.py:name"``. Their order does not matter where the objects tell which is which.
        inputs: an array, a sequence or a mapping of arrays, in torch's order of axes; or
            ``{"torch": ..., "tf": ...}`` where the two sides take different ones.
        training: run in training mode (statistics of the batch, dropout).
        steps: how many steps two optimizers take; their ``inputs``, if any, are the parameters.
        transfer: ``copy`` gives the tf side torch's weights; ``keep`` compares the sides with the
            weights that they have.
        names: torch layer -> tf layer, for layers that cannot be paired without doubt.

    Returns:
        The report; ``report.subject`` holds the pairing and the layers at fault.

    Raises:
        InvalidInput: a side cannot be loaded, is of no known kind, or refuses the inputs.
        AlignmentError, TransferError: layers or weights cannot be paired without guessing.
    """
    if transfer not in WEIGHTS:
        raise InvalidInput(f"transfer={transfer!r}: choose {' or '.join(WEIGHTS)}")
    pair = _sides(torch, tf)
    arrays = None if inputs is None else _inputs(inputs)
    if all(subject.kind == "module" for subject in pair.values()) and arrays is not None:
        if not arrays["torch"]:
            raise InvalidInput("no inputs; a check on nothing proves nothing")
        return check_modules(
            pair, arrays, training=training, transfer=transfer, names=names, seed=seed
        )
    if pair["torch"].kind == "optimizer":
        from parity.debug.optimizers import check_optimizers

        return check_optimizers(pair, arrays and arrays["torch"], steps=steps, seed=seed)
    if arrays is None:
        if not all(takes_nothing(subject.value) for subject in pair.values()):
            raise InvalidInput("a check of modules or functions needs inputs")
        arrays = _inputs([])
    from parity.debug.functions import check_functions

    return check_functions(pair, arrays, seed=seed)


def _sides(first: Any, second: Any) -> dict[str, Subject]:
    """Both subjects, told apart by what they are; torch's package is imported before TensorFlow."""
    if find_spec("torch") is not None:
        import torch  # noqa: F401
    subjects = [
        resolve(load(given), given) if isinstance(given, str) else resolve(given, label)
        for given, label in ((first, "torch"), (second, "tf"))
    ]
    found = [s.side for s in subjects]
    if found[0] is not None and found[0] == found[1]:
        raise InvalidInput(
            f"{subjects[0].label} and {subjects[1].label} are both {found[0]}: "
            "a check needs one side of each framework"
        )
    if found[0] == "tf" or found[1] == "torch":
        subjects.reverse()
    if {s.kind for s in subjects} == {"function", "optimizer"}:
        # params -> optimizer is a function until it meets an optimizer
        subjects = [replace(s, kind="optimizer") for s in subjects]
    if {s.kind for s in subjects} not in ({"module", "function"}, {subjects[0].kind}):
        kinds = [f"{s.label} is a {s.kind}" for s in subjects]
        raise InvalidInput(f"{' and '.join(kinds)}: give two of the same kind")
    return dict(zip(SIDES, subjects, strict=True))


def _inputs(inputs: Any) -> dict[str, dict[str, np.ndarray]]:
    if isinstance(inputs, Mapping) and set(inputs) == set(SIDES):
        return {side: as_arrays(inputs[side], f"inputs of {side}") for side in SIDES}
    arrays = as_arrays(inputs)
    return {side: arrays for side in SIDES}


def check_modules(
    subjects: Mapping[str, Subject],
    inputs: Mapping[str, Mapping[str, np.ndarray]],
    *,
    training: bool,
    transfer: str,
    names: Mapping[str, str] | None,
    seed: int,
) -> Report:
    """The module door: pair, transfer, record, compare; then again in float64."""
    given = {side: list(inputs[side].values()) for side in SIDES}
    if inputs["torch"] is inputs["tf"]:
        given["tf"] = _tf_inputs(subjects["tf"].value, given["torch"])
    values = {side: subjects[side].value for side in SIDES}
    mode = values["torch"].training
    values["torch"].train(training)
    try:
        first = _record(Pair(values, given, "float32"), subjects, seed)
        slots = {side: weights.slots(values[side]) for side in SIDES}
        layers = {side: first.layers(side) for side in SIDES}
        matches, pairing = modules.match_layers(first.records, slots, layers, names)
        moved = modules.weight_names(matches, slots)
        if transfer == "copy":
            weights.copy(values["torch"], values["tf"], names=moved)
        twins = _twins(subjects, given)
        run32 = _compare(Pair(values, given, "float32", training), subjects, names, moved, seed)
        run64 = None
        if all(twin.module is not None for twin in twins.values()):
            wide = {side: twins[side].module for side in SIDES}
            wide["torch"].train(training)
            run64 = _compare(Pair(wide, given, "float64", training), subjects, names, moved, seed)
    finally:
        values["torch"].train(mode)
    subject = _subject(subjects, matches, pairing, first, twins)
    return _judged(run32, run64, subject)


def _record(pair: Pair, subjects: Mapping[str, Subject], seed: int) -> Pair:
    try:
        return pair.record(seed)
    except (InvalidInput, TransferError, MissingFramework):
        raise
    except Exception as error:
        shapes = {s: [a.shape for a in arrays] for s, arrays in pair.inputs.items()}
        labels = " or ".join(subjects[side].label for side in SIDES)
        raise InvalidInput(
            f"{labels} refuses inputs of shapes {shapes} in {pair.dtype}: {describe(error)}"
        ) from error


def _twins(subjects: Mapping[str, Subject], given: Mapping[str, list[np.ndarray]]) -> dict[str, Twin]:
    backend = get_backend("tf")

    def build(module: Any) -> None:
        backend.record_module(
            module,
            [a.astype("float64") if a.dtype.kind == "f" else a for a in given["tf"]],
            cotangents=modules.cotangents(0),
            dtype="float64",
        )

    return {
        "torch": torch_twin(subjects["torch"].value),
        "tf": keras_twin(subjects["tf"], build),
    }


def _compare(
    pair: Pair,
    subjects: Mapping[str, Subject],
    names: Mapping[str, str] | None,
    moved: Mapping[str, str],
    seed: int,
) -> tuple[Report, dict[str, Trace]]:
    _record(pair, subjects, seed)
    slots = {side: weights.slots(pair.modules[side]) for side in SIDES}
    layers = {side: pair.layers(side) for side in SIDES}
    matches, _ = modules.match_layers(pair.records, slots, layers, names)
    traces = modules.traces(pair, matches, moved)
    report = build_report(
        traces,
        # zeros inside a user's network are ordinary; an output of nothing but zeros is not
        expect_zero=("forward/*", "local/*", "grad*", "state/*"),
        dtype=pair.dtype,
        subject={"dtype": pair.dtype},
    )
    return report, traces


def _tf_inputs(module: Any, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The torch inputs as the tf model declares them: channels last where its shape says so."""
    declared = getattr(module, "input_shape", None)
    if declared is None:
        return list(inputs)
    shapes = declared if isinstance(declared, list) else [declared]
    if len(shapes) != len(inputs):
        return list(inputs)
    return [_as_declared(a, shape) for a, shape in zip(inputs, shapes, strict=True)]


def _as_declared(array: np.ndarray, shape: Any) -> np.ndarray:
    def fits(candidate: np.ndarray) -> bool:
        return len(shape) == candidate.ndim and all(
            want in (None, have) for want, have in zip(shape, candidate.shape, strict=True)
        )

    if not isinstance(shape, tuple) or fits(array):
        return array
    for order in (axes.CHANNELS_LAST, axes.TIME_SECOND):
        moved = axes.to_tf(array, order)
        if fits(moved):
            return moved
    return array


def _judged(
    run32: tuple[Report, dict[str, Trace]],
    run64: tuple[Report, dict[str, Trace]] | None,
    subject: dict[str, Any],
) -> Report:
    report, traces = run32
    if run64 is None:
        report = build_report(
            traces,
            tolerances=rounding_tolerances(traces["torch"]),
            expect_zero=("*",),
            dtype="float32",
        )
        evidence = None
    else:
        evidence = run64[0]
    subject["faults"] = faults(evidence or report)
    return judge(report.with_(subject={**subject, "dtype": "float32"}), evidence)


def faults(report: Report) -> list[str]:
    """Layers whose own computation differs, whatever they were fed: by the local error."""
    found = []
    for entry in report.failing:
        head, _, rest = entry.name.partition("/")
        if head == "local":
            found.append(rest.rpartition("/output")[0])
    return list(dict.fromkeys(found))


def _subject(
    subjects: Mapping[str, Subject],
    matches: Sequence[Match],
    pairing: Any,
    pair: Pair,
    twins: Mapping[str, Twin],
) -> dict[str, Any]:
    calls = {side: pair.records[side].calls for side in SIDES}
    missing = {side: twin.reason for side, twin in twins.items() if twin.module is None}
    return {
        "check": "module",
        "torch": subjects["torch"].label,
        "tf": subjects["tf"].label,
        "layers": [
            {"torch": m.torch.path, "tf": m.tf.path, "kind": m.torch.kind} for m in matches
        ],
        "only_torch": [calls["torch"][i].path for i in pairing.only_torch],
        "only_tf": [calls["tf"][j].path for j in pairing.only_tf],
        "no_float64": missing,
    }
