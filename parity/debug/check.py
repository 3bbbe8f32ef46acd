"""``parity.check``: find out what two sides are, run them in both precisions, and judge.

The float32 run is what the user sees; the float64 run of the same objects, with the same weights
and inputs, tells whether a difference is rounding, and shows differences that the data hides.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import numpy as np

from parity.debug.inputs import as_arrays
from parity.debug.subjects import Subject, load, resolve, takes_nothing
from parity.errors import InvalidInput
from parity.report import Report
from parity.verdict import Verdict

SIDES = ("torch", "tf")
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
    search: int = 0,
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
        search: where the sides agree on the inputs, try so many others of their kind (zeros, ties,
            bounds, extreme scales, sizes); what is found is shrunk and reported in their place.

    Returns:
        The report; ``report.subject`` holds the pairing and the layers at fault.

    Raises:
        InvalidInput: a side cannot be loaded, is of no known kind, or refuses the inputs.
        AlignmentError, TransferError: layers or weights cannot be paired without guessing.
    """
    if transfer not in WEIGHTS:
        raise InvalidInput(f"transfer={transfer!r}: choose {' or '.join(WEIGHTS)}")
    pair = sides(torch, tf)
    arrays = None if inputs is None else _inputs(inputs)
    options: dict[str, Any] = {
        "training": training,
        "steps": steps,
        "transfer": transfer,
        "names": names,
        "seed": seed,
    }
    report = _checked(pair, arrays, **options)
    if search and arrays is not None and pair["torch"].kind != "optimizer":
        report = _searched(report, pair, arrays, search, options)
    return report


def _searched(
    report: Report,
    pair: Mapping[str, Subject],
    arrays: Mapping[str, Mapping[str, np.ndarray]],
    examples: int,
    options: Mapping[str, Any],
) -> Report:
    """The report on inputs that a search found, where the given ones show no difference."""
    from parity.debug.search import as_test, search

    if report.verdict not in (Verdict.AGREE, Verdict.ROUNDING, Verdict.LATENT):
        return report
    if arrays["torch"] is not arrays["tf"]:
        raise InvalidInput("a search needs inputs that both sides share")
    found = search(pair, arrays["torch"], examples, seed=options["seed"])
    facts: dict[str, Any] = {"search": {"tried": found.tried, "found": found.inputs is not None}}
    if found.inputs is not None:
        report = _checked(pair, dict.fromkeys(SIDES, found.inputs), **options)
        if found.rich is not None:
            richer = _checked(pair, dict.fromkeys(SIDES, found.rich), **options)
            report = report.with_(causes=richer.causes or report.causes)
        labels = {side: subject.label for side, subject in pair.items()}
        facts["example"] = as_test(labels, found.inputs)
    return report.with_(subject={**report.subject, **facts})


def _checked(
    pair: Mapping[str, Subject],
    arrays: Mapping[str, Mapping[str, np.ndarray]] | None,
    *,
    training: bool,
    steps: int,
    transfer: str,
    names: Mapping[str, str] | None,
    seed: int,
) -> Report:
    if all(subject.kind == "module" for subject in pair.values()) and arrays is not None:
        if not arrays["torch"]:
            raise InvalidInput("no inputs; a check on nothing proves nothing")
        from parity.debug.module_check import check_modules

        return check_modules(
            pair, arrays, training=training, transfer=transfer, names=names, seed=seed
        )
    if pair["torch"].kind == "optimizer":
        from parity.debug.optimizers import check_optimizers

        given = None if arrays is None else arrays["torch"]
        return check_optimizers(pair, given, steps=steps, seed=seed)
    if arrays is None:
        if not all(takes_nothing(subject.value) for subject in pair.values()):
            raise InvalidInput(
                "a check of modules or functions needs inputs, e.g. "
                '--input "state=float32[13,3]" or --inputs port.py:batch'
            )
        arrays = _inputs([])
    from parity.debug.functions import check_functions

    return check_functions(pair, arrays, seed=seed)


def sides(first: Any, second: Any) -> dict[str, Subject]:
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
    return dict.fromkeys(SIDES, arrays)
