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
    pair = sides(torch, tf)
    arrays = None if inputs is None else _inputs(inputs)
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
            raise InvalidInput("a check of modules or functions needs inputs")
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
