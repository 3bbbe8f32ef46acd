"""The code between two layers as a pair of functions, for the hypotheses about functions.

Both models run from their inputs to the place of the fault. On the tf side every paired layer hands
on torch's output, so that only what is done between the layers is left to differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from parity.debug import axes, modules, values
from parity.debug.forced import forced_run
from parity.debug.localise import OUTPUT, Fault
from parity.debug.matching import SIDES, Match
from parity.trace import flatten

_MOST = 6
"""Layers before the place whose outputs a convention may be applied to."""


def explain(fault: Fault, run: Any) -> list[dict[str, Any]]:
    """Causes as the function door words them, at the place of the fault; none if none fits."""
    made = {"torch": _torch_function(fault, run), "tf": _tf_function(fault, run)}
    inputs = {
        side: {f"input{i}": np.asarray(a) for i, a in enumerate(run.pair.inputs[side])}
        for side in SIDES
    }
    return _causes(fault, made, inputs, run.pair.dtype, list(_outputs(run, fault)))


def _outputs(run: Any, fault: Fault) -> Iterator[tuple[str, np.ndarray]]:
    """What the paired layers before the place return, the nearest first."""
    matches = run.matching.matches
    if fault.kind != OUTPUT and fault.match in matches:
        matches = matches[: matches.index(fault.match)]
    for match in reversed(matches[-_MOST:]):
        array = match.torch[-1].output
        if isinstance(array, np.ndarray) and array.dtype.kind == "f" and array.size > 1:
            yield f"what {match.path} returns", array.astype(np.float64)


def explain_own_layer(fault: Fault, match: Match, run: Any) -> list[dict[str, Any]]:
    """The same for layers of the user's own, whose code is all that is known of them."""
    torch, tf = match.torch[-1], match.tf[-1]
    if torch.replay is None or tf.replay is None or len(match.torch) + len(match.tf) > 2:
        return []
    made = {
        "torch": lambda *arrays: torch.replay(list(arrays)),
        "tf": lambda *arrays: _in_torch_order(tf.replay(list(arrays)), match),
    }
    given = {"torch": torch.inputs, "tf": modules.torch_inputs(match)}
    inputs = {side: {f"input{i}": a for i, a in enumerate(given[side])} for side in SIDES}
    return _causes(fault, made, inputs, run.pair.dtype)


def _in_torch_order(output: Any, match: Match) -> Any:
    return axes.to_torch(output, match.order) if isinstance(output, np.ndarray) else output


def _causes(
    fault: Fault,
    made: Mapping[str, Any],
    inputs: Mapping[str, Any],
    dtype: str,
    known: Sequence[tuple[str, np.ndarray]] = (),
) -> list[dict[str, Any]]:
    from parity.debug import functions
    from parity.debug.calls import ARRAYS, Caller
    from parity.debug.subjects import Subject
    from parity.diagnose.functions import explain_functions

    callers = {
        side: Caller(Subject(side, side, "function", made[side]), side, style=ARRAYS)
        for side in SIDES
    }
    try:
        base = functions.run(callers, inputs, dtype)
        report = explain_functions(base.report, callers, inputs, base, base, known)
    except Exception:  # the function door cannot run it: no cause, and no traceback of ours
        return []
    return [{**cause, "place": fault.place} for cause in report.causes]


def _torch_function(fault: Fault, run: Any) -> Any:
    module = run.pair.modules["torch"]

    def torch_code(*arrays: np.ndarray) -> Mapping[str, np.ndarray]:
        import torch

        seen: list[Any] = []
        hook = None
        if fault.kind != OUTPUT and fault.match is not None:
            call = fault.match.torch[0]
            hook = call.layer.register_forward_pre_hook(
                lambda _, args, kwargs: seen.append((args, kwargs)), with_kwargs=True
            )
        try:
            with torch.no_grad(), modules.unmoved([module]), _outputs_known(run):
                output = module(*(torch.tensor(np.array(a)) for a in arrays))
        finally:
            if hook is not None:
                hook.remove()
        if hook is None:
            return {str(i): a.detach().numpy() for i, (_, a) in enumerate(flatten(output))}
        assert fault.match is not None
        number = int([*fault.match.torch[0].path.split("#"), "1"][1])
        args, kwargs = seen[number - 1]
        tensors = [x for x in values.flat([list(args), kwargs]) if isinstance(x, torch.Tensor)]
        return {str(i): t.detach().numpy() for i, t in enumerate(tensors)}

    return torch_code


@contextmanager
def _outputs_known(run: Any) -> Iterator[None]:
    """Paired layers of torch return what they were recorded to return, without running."""
    import torch

    known = {
        call.path: call.output
        for match in run.matching.matches
        for call in match.torch[-1:]
        if _plain(call.output)
    }
    paths = {id(call.layer): call.path.split("#")[0] for call in run.pair.records["torch"].calls}
    counts: dict[str, int] = {}
    original = torch.nn.Module.__call__

    def call(layer: Any, *args: Any, **kwargs: Any) -> Any:
        path = paths.get(id(layer))
        if path is None:
            return original(layer, *args, **kwargs)
        counts[path] = number = counts.get(path, 0) + 1
        output = known.get(path if number == 1 else f"{path}#{number}")
        if output is None:
            return original(layer, *args, **kwargs)
        for hook in layer._forward_pre_hooks.values():
            hook(layer, args, kwargs)
        return _as_tensors(output)

    torch.nn.Module.__call__ = call
    try:
        yield
    finally:
        torch.nn.Module.__call__ = original


def _plain(output: Any) -> bool:
    """An array, or tuples and lists of arrays as recurrent layers return them."""
    if type(output) in (tuple, list):
        return bool(output) and all(_plain(part) for part in output)
    return isinstance(output, np.ndarray)


def _as_tensors(output: Any) -> Any:
    import torch

    if isinstance(output, (tuple, list)):
        return type(output)(_as_tensors(part) for part in output)
    return torch.tensor(output)


def _tf_function(fault: Fault, run: Any) -> Any:
    def tf_code(*arrays: np.ndarray) -> Mapping[str, np.ndarray]:
        forced = forced_run(run.pair, run.matching, arrays, only_code=True)
        if forced is None:
            raise ValueError("the tf side refuses torch's values")
        if fault.kind == OUTPUT or fault.match is None:
            left = [np.asarray(a) for _, a in flatten(run.pair.records["torch"].output)]
            right = [np.asarray(a) for _, a in flatten(forced.output)]
            return {
                str(i): axes.to_torch(b, run.matching.output_order(a, b))
                for i, (a, b) in enumerate(zip(left, right, strict=False))
            }
        given = forced.inputs[fault.match.tf[0].path]
        return {
            str(i): axes.to_torch(np.asarray(a), fault.match.input_order)
            for i, a in enumerate(given)
        }

    return tf_code
