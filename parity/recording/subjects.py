"""Recording a user's subject: a module, a function or an optimizer, in float32 and float64.

A recording is a trace: the arrays, and metadata that say what they are. It holds all that
``parity check`` needs of this side, so that the other side can be checked where this one's
framework is not installed.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from parity.debug.subjects import Subject
from parity.errors import InvalidInput
from parity.trace import Trace

VERSION = 1
"""Of what the metadata of a recording look like."""


def record(
    subject: Any,
    inputs: Any = None,
    *,
    out: str | Path | None = None,
    training: bool = False,
    steps: int = 5,
    seed: int = 0,
    like: str | Path | None = None,
    side: str | None = None,
    as_function: bool = False,
) -> Trace:
    """Record one side of a pair, to be checked against the other one elsewhere.

    Args:
        subject: a module, callable, optimizer, a zero-argument factory of these, or a string such
            as ``"file.py:name"``.
        inputs: an array, a sequence or a mapping of arrays, in the order of axes that the subject
            takes; the parameters, for an optimizer.
        out: file to write; it appears whole or not at all.
        training: run a module in training mode; dropout is left out.
        steps: how many steps an optimizer takes.
        seed: of the output weights of the backward pass, and of drawn values.
        like: a recording of the other side: the inputs, the seed, the mode and the weights are
            taken from it.
        side: ``torch`` or ``tf``, where nothing about the subject tells.
        as_function: record a module as a function, to be checked against one: what it returns and
            its gradients, in its own mode, without its layers.

    Returns:
        The recording.

    Raises:
        InvalidInput: the subject cannot be loaded, is of no known kind, or refuses the inputs.
        TransferError, AlignmentError: ``like``'s weights do not fit.
    """
    from parity.debug.inputs import as_arrays
    from parity.recording.reading import partner_of

    own = _resolved(subject, side)
    arrays = None if inputs is None else as_arrays(inputs)
    partner = None if like is None else partner_of(like, own)
    if partner is not None:
        arrays = partner.agreed_inputs(arrays)
        training, steps, seed = partner.training, partner.steps, partner.seed
    options = {"training": training, "steps": steps, "seed": seed}
    trace = Trace(side=str(own.side), meta=_meta(own, arrays, options))
    if as_function and own.kind == "module":
        trace.meta["kind"] = "function"
    for name, array in (arrays or {}).items():
        trace.add(f"inputs/{name}", array)
    _record(own, arrays, trace, options, partner)
    if out is not None:
        trace.save(out)
    return trace


def _resolved(subject: Any, side: str | None) -> Subject:
    from dataclasses import replace

    from parity.debug.check import as_optimizer
    from parity.debug.subjects import load, resolve

    if isinstance(subject, Subject):
        own = subject
    elif isinstance(subject, str):
        own = resolve(load(subject), subject)
    else:
        own = resolve(subject, type(subject).__name__)
    if own.side is None and side is None:
        side = _only_framework()
    if own.side is None and side is None:
        raise InvalidInput(
            f"{own.label}: nothing about it tells which framework it is of; say it with "
            "--side torch or --side tf (side= in Python)"
        )
    if side is not None and own.side not in (None, side):
        raise InvalidInput(f"{own.label} is of {own.side}, not of {side}")
    own = replace(own, side=own.side or side)
    return as_optimizer(own)


def _only_framework() -> str | None:
    """The framework that is installed here, where it is only one."""
    from parity.requirements import missing

    here = [side for side in ("torch", "tf") if not missing([side])]
    return here[0] if len(here) == 1 else None


def _meta(
    subject: Subject, arrays: Mapping[str, np.ndarray] | None, options: Mapping[str, Any]
) -> dict[str, Any]:
    from parity.fingerprint import fingerprint

    return {
        "recording": VERSION,
        "kind": subject.kind,
        "subject": {"label": subject.label, "side": subject.side},
        "inputs": None if arrays is None else list(arrays),
        "options": dict(options),
        "environment": fingerprint(),
    }


def _record(
    subject: Subject,
    arrays: Mapping[str, np.ndarray] | None,
    trace: Trace,
    options: Mapping[str, Any],
    partner: Any,
) -> None:
    if subject.kind == "optimizer":
        from parity.recording.optimizers import record_optimizer

        record_optimizer(subject, arrays, trace, steps=options["steps"], seed=options["seed"])
        return
    if trace.meta["kind"] == "module" and arrays is not None:
        if not arrays:
            raise InvalidInput("no inputs; a recording of nothing proves nothing")
        from parity.recording.whole_modules import record_whole_module

        record_whole_module(subject, arrays, trace, options, partner)
        return
    from parity.debug.subjects import takes_nothing

    if arrays is None and not takes_nothing(subject.value):
        raise InvalidInput(
            "recording a module or function needs inputs, e.g. "
            '--input "state=float32[13,3]" or --inputs port.py:batch'
        )
    from parity.recording.functions import record_function

    prefer = None if partner is None else partner.style
    record_function(subject, arrays or {}, trace, seed=options["seed"], prefer=prefer)
