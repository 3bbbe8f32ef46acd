"""Run one check of one component: load the siblings, record, compare, and get the evidence."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import linecache
import os
import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

from parity.backends import get_backend
from parity.component import MODES, SIBLINGS, Check, Component, Mutant, Recording, Side
from parity.errors import InvalidInput
from parity.report import Report, build_report, judge
from parity.verdict import Verdict


def load_siblings(package: str, sides: Collection[str] = tuple(SIBLINGS)) -> dict[str, ModuleType]:
    """Import the implementations of the component whose package this is (``impls.returns``).

    torch before TensorFlow: the other order has hung.

    Args:
        sides: which of ``torch``, ``tf`` and ``reference``.
    """
    return {
        side: importlib.import_module(f"{package}.{file}")
        for side, file in SIBLINGS.items()
        if side in sides
    }


def run_check(
    component: Component,
    check: Check,
    siblings: Mapping[str, ModuleType],
    *,
    dtype: str,
    mode: str = "eager",
    device: str = "cpu",
    with_evidence: bool = True,
) -> Report:
    """Run a check in one dtype and mode and judge it.

    A float32 run that is over tolerance without a structural difference is repeated in float64:
    that run is the evidence which tells rounding from a real difference.
    """
    report = _run(component, check, siblings, dtype, mode, device)
    if not evidence_wanted(report) or dtype == "float64" or not with_evidence:
        return report
    return judge(report, _run(component, check, siblings, "float64", mode, device))


def evidence_wanted(report: Report) -> bool:
    """Whether a float64 run can tell rounding from a real difference here."""
    settled = report.verdict in (Verdict.AGREE, Verdict.INVALID)
    return not settled and report.excusable


def make_sides(
    siblings: Mapping[str, ModuleType], *, dtype: str, mode: str = "eager", device: str = "cpu"
) -> dict[str, Side]:
    """One :class:`Side` per sibling; the reference runs in float64 and eager mode, on the CPU."""
    if mode not in MODES:
        raise InvalidInput(f"unknown mode {mode!r}; known: {', '.join(MODES)}")
    return {
        name: Side(
            name=name,
            impl=impl,
            backend=get_backend(name),
            dtype="float64" if name == "reference" else dtype,
            variant=MODES[mode].get(name, "eager"),
            device="cpu" if name == "reference" else device,
        )
        for name, impl in siblings.items()
    }


def _run(
    component: Component,
    check: Check,
    siblings: Mapping[str, ModuleType],
    dtype: str,
    mode: str,
    device: str,
) -> Report:
    sides = make_sides(siblings, dtype=dtype, mode=mode, device=device)
    sources = {side.name: definition(side.impl, check.name) for side in sides.values()}
    return report_of(component, check, recorded(check, sides), sources, dtype, mode, device)


_KEPT: dict[tuple[Any, ...], tuple[Check, Mapping[str, Side], Recording]] = {}
"""What was recorded for another test of the same check; the check and the sides are kept with it,
so that the identities in its key stay theirs."""


def recorded(check: Check, sides: Mapping[str, Side], *, keep: bool = False) -> Recording:
    """What the check records on these sides.

    Args:
        keep: hold it for one later call, which then runs nothing. The suite compares one run with
            the goldens and with the other sides; nothing but its time depends on this.
    """
    key = (id(check), *((n, id(s.impl), s.dtype, s.variant, s.device) for n, s in sides.items()))
    kept = _KEPT.pop(key, None)
    recording = kept[2] if kept is not None else check.record(sides)
    if keep:
        _KEPT[key] = (check, sides, recording)
    return recording


def report_of(
    component: Component,
    check: Check,
    recording: Recording,
    sources: Mapping[str, str],
    dtype: str,
    mode: str,
    device: str,
) -> Report:
    """Compare what a check recorded.

    Args:
        sources: side -> where the name under test is defined.
    """
    return build_report(
        recording.traces,
        tolerances=check.tolerances.get(dtype, {}),
        expect_zero=check.expect_zero,
        problems=recording.problems,
        dtype=dtype,
        subject={
            "component": component.name,
            "check": check.label,
            "case": check.case,
            "dtype": dtype,
            "mode": mode,
            "device": device,
            "source": dict(sources),
            "compiles": recording.compiles,
        },
    )


def definition(module: ModuleType, name: str) -> str:
    """``path:line`` of the function, class or method of this name; of the file where none is."""
    file = str(getattr(module, "__file__", None) or getattr(module, "__name__", ""))
    if not file:  # a namespace in a module's place
        return f"a {type(module).__name__}"
    path = os.path.relpath(file) if os.path.isabs(file) else file
    try:
        lines = _lines(file, Path(file).stat().st_mtime_ns)
    except (OSError, SyntaxError):  # a planted module has no file of its own
        return path
    return f"{path}:{lines[name]}" if name in lines else path


@lru_cache(maxsize=256)
def _lines(file: str, changed: int) -> Mapping[str, int]:
    """First line of every function and class of a file, by name; parsed once per change."""
    tree = ast.parse(Path(file).read_text(encoding="utf-8"))
    found: dict[str, int] = {}
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found[node.name] = min(node.lineno, found.get(node.name, node.lineno))
    return found


@contextmanager
def planted(package: str, mutant: Mutant) -> Iterator[dict[str, ModuleType]]:
    """The siblings of a component with one of them edited, for the length of the context.

    Raises:
        InvalidInput: the text to replace does not occur exactly once: the mutant has rotted.
    """
    siblings = load_siblings(package)
    original = siblings[mutant.sibling]
    path = Path(original.__file__ or "")
    source = path.read_text()
    if (count := source.count(mutant.find)) != 1:
        raise InvalidInput(
            f"mutant {mutant.id!r}: its text occurs {count} times in {path.name}, it must be once:"
            f"\n  {mutant.find}"
        )
    edited = source.replace(mutant.find, mutant.replace)
    name = f"{original.__name__}__{mutant.id.replace('-', '_')}"
    module = _module_from_source(name, path, edited)
    try:
        yield {**siblings, mutant.sibling: module}
    finally:
        sys.modules.pop(module.__name__, None)
        linecache.cache.pop(module.__file__ or "", None)


def _module_from_source(name: str, path: Path, source: str) -> ModuleType:
    """A module made from edited source; tracebacks and AutoGraph find its lines in linecache."""
    shown = f"{path.with_suffix('')}[{name.rsplit('__', 1)[-1]}].py"
    spec = importlib.util.spec_from_loader(name, loader=None, origin=shown)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    module.__file__ = shown
    module.__package__ = name.rpartition(".")[0]
    linecache.cache[shown] = (len(source), None, source.splitlines(keepends=True), shown)
    sys.modules[name] = module
    exec(compile(source, shown, "exec"), module.__dict__)  # our own source, one edit
    return module
