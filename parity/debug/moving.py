"""Moving the weights of a user's pair, either way, without comparing anything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from parity import weights
from parity.backends.base import LayerCall
from parity.debug import transfer
from parity.debug.matching import SIDES, Matching, steps
from parity.debug.pairing import pair
from parity.debug.subjects import describe
from parity.debug.transfer import Plan
from parity.errors import InvalidInput
from parity.layouts import is_composite, kind_of
from parity.report import Problem


@dataclass(frozen=True)
class Move:
    """What was moved, and what has no partner.

    Attributes:
        tensors: (torch name, tf name, canonical shape).
    """

    tensors: tuple[tuple[str, str, tuple[int, ...]], ...]
    problems: tuple[Problem, ...]


def move(modules: Mapping[str, Any], to: str, *, names: Mapping[str, str] | None = None) -> Move:
    """Pair the layers by the order of their definition, kind, shape and name; move their weights.

    Nothing is moved unless every tensor of both sides has a partner.

    Args:
        modules: ``torch`` and ``tf``, both built.
        to: the side that is written.

    Raises:
        AlignmentError, TransferError: layers or weights cannot be paired without guessing.
    """
    plan = plan_by_definition(modules, names)
    if not plan.problems:
        for moved in plan.moved:
            source, target = (moved.torch, moved.tf) if to == "tf" else (moved.tf, moved.torch)
            target.set(transfer.fitted(source.get(), target))
    rows = tuple((m.name, m.tf_name, tuple(m.torch.shape)) for m in plan.moved)
    return Move(rows, tuple(plan.problems))


def plan_by_definition(modules: Mapping[str, Any], names: Mapping[str, str] | None = None) -> Plan:
    """The pairing of tensors where nothing has been run."""
    from parity.debug.matching import Match

    calls = {side: _layers(side, modules[side]) for side in SIDES}
    taken = {side: steps(calls[side], transfer.layer_shapes(calls[side])) for side in SIDES}
    found = pair(taken["torch"], taken["tf"], names=names)
    matches = []
    for i, j in found.pairs:
        a, b = taken["torch"][i], taken["tf"][j]
        left, right = calls["torch"][a.call], calls["tf"][b.call]
        matches.append(Match((left,), (right,), parts=((a.path, b.path),)))
    used = {
        "torch": {taken["torch"][i].call for i, _ in found.pairs},
        "tf": {taken["tf"][j].call for _, j in found.pairs},
    }
    only = {side: [c for k, c in enumerate(calls[side]) if k not in used[side]] for side in SIDES}
    return transfer.plan(Matching(matches, found, only), modules)


def _layers(side: str, module: Any) -> list[LayerCall]:
    """Every layer of the library's that holds tensors, in the order of definition, as if called."""
    from parity.layouts import library_class

    found: list[LayerCall] = []
    inside: list[str] = []
    for path, layer in _walk(side, module):
        if any(path.startswith(f"{outer}/") or outer == "" for outer in inside):
            continue
        if library_class(side, layer) is None or not _holds(side, layer, module):
            continue
        kind = kind_of(side, layer)
        found.append(LayerCall(path or kind, kind, [], np.zeros(1), layer=layer))
        if is_composite(side, layer):
            inside.append(path)
    return found


def _holds(side: str, layer: Any, module: Any) -> bool:
    own = {slot.path for slot in weights.slots(layer)}
    return any("/" not in path for path in own) or (bool(own) and is_composite(side, layer))


def _walk(side: str, module: Any) -> list[tuple[str, Any]]:
    if side == "torch":
        return [(name.replace(".", "/"), layer) for name, layer in module.named_modules()]
    from parity.backends.keras_tree import walk

    return walk(module)


def load_file(path: Path, modules: Mapping[str, Any]) -> str:
    """Fill the side that a weights file belongs to; returns that side.

    ``.safetensors``, ``.pt`` and ``.pth`` hold a torch ``state_dict``; ``.h5`` Keras weights.

    Raises:
        InvalidInput: no such file, another kind of file, or it does not fit the module.
    """
    if not path.is_file():
        raise InvalidInput(f"{path}: no such file")
    try:
        if path.suffix in (".safetensors", ".pt", ".pth"):
            modules["torch"].load_state_dict(_state_dict(path))
            return "torch"
        if path.suffix in (".h5", ".keras"):
            modules["tf"].load_weights(str(path))
            return "tf"
    except Exception as error:
        raise InvalidInput(f"{path}: {describe(error)}") from error
    raise InvalidInput(f"{path}: weights come from .safetensors, .pt, .pth, .weights.h5 or .keras")


def _state_dict(path: Path) -> Any:
    import torch

    if path.suffix == ".safetensors":
        from safetensors.torch import load_file as load_tensors

        return load_tensors(str(path))
    return torch.load(str(path), map_location="cpu", weights_only=True)


def save_file(path: Path, to: str, module: Any) -> None:
    """Write the moved weights.

    Raises:
        InvalidInput: the file's ending is none that this side writes.
    """
    if to == "tf" and path.name.endswith(".weights.h5"):
        module.save_weights(str(path))
    elif to == "tf" and path.suffix == ".keras":
        module.save(str(path))
    elif to == "torch" and path.suffix == ".safetensors":
        from safetensors.torch import save_file as save_tensors

        save_tensors({k: v.contiguous() for k, v in module.state_dict().items()}, str(path))
    elif to == "torch" and path.suffix in (".pt", ".pth"):
        import torch

        torch.save(module.state_dict(), str(path))
    else:
        kinds = ".weights.h5 or .keras" if to == "tf" else ".safetensors, .pt or .pth"
        raise InvalidInput(f"{path}: weights of {to} are written as {kinds}")


def build(module: Any, inputs: Sequence[np.ndarray]) -> None:
    """Call a tf model once, so that its weights exist."""
    from parity.backends import get_backend
    from parity.backends.tf_backend import call_model

    call_model(module, [get_backend("tf").tensor(a) for a in inputs], training=False)
