"""Siblings cannot drift apart: the same names, the same signatures, the same refusals."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from impls import COMPONENTS, load_component
from parity.backends import get_backend
from parity.component import SIBLINGS, ErrorCase, Side
from parity.requirements import missing

ROOT = Path(__file__).parents[2]
CONTRACTS = [
    pytest.param(component, side, documented, id=f"{component}-{side}-{documented.__name__}")
    for component in COMPONENTS
    for side in SIBLINGS
    for documented in load_component(component).contract
]
ERRORS = [
    pytest.param(component, case, side, id=f"{component}-{case.id}-{side}")
    for component in COMPONENTS
    for case in load_component(component).errors
    for side in case.sides
]
SOURCES = sorted(p for part in ("parity", "impls") for p in (ROOT / part).rglob("*.py"))


def sibling(component: str, side: str) -> ModuleType:
    if side != "reference" and missing([side]):
        pytest.skip(f"{side} is not installed")
    return import_module(f"impls.{component}.{SIBLINGS[side]}")


def parameters(function: Callable[..., Any]) -> list[tuple[str, str, Any]]:
    """Name, kind and default of each parameter: annotations may name a framework's types."""
    return [
        (p.name, p.kind.name, p.default) for p in inspect.signature(function).parameters.values()
    ]


def methods(cls: type) -> dict[str, Any]:
    """What the class itself defines for others to use."""
    return {
        name: value
        for name, value in vars(cls).items()
        if (not name.startswith("_") or name in ("__init__", "__call__"))
        and (callable(value) or isinstance(value, property))
    }


@pytest.mark.parametrize(("component", "side", "documented"), CONTRACTS)
def test_signatures_are_identical(
    component: str, side: str, documented: Callable[..., Any]
) -> None:
    implemented = getattr(sibling(component, side), documented.__name__, None)
    assert implemented is not None, f"{side} lacks {documented.__name__}"
    if not inspect.isclass(documented):
        assert parameters(implemented) == parameters(documented)
        return
    for name, method in methods(documented).items():
        there = inspect.getattr_static(implemented, name, None)
        assert there is not None, f"{side}: {documented.__name__} lacks {name}"
        if isinstance(method, property):
            assert not callable(there), f"{name} is a property in the contract"
        else:
            assert parameters(getattr(implemented, name)) == parameters(method), name


@pytest.mark.parametrize("side", SIBLINGS)
@pytest.mark.parametrize("component", COMPONENTS)
def test_nothing_public_is_undocumented(component: str, side: str) -> None:
    """A public function that the contract lacks is on one side only, or is not documented.

    Classes behind a builder are each framework's own business.
    """
    module = sibling(component, side)
    documented = {part.__name__ for part in load_component(component).contract}
    if side == "reference":
        documented |= {f"{name}_vjp" for name in documented}
    public = {
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and inspect.isfunction(value)
        and value.__module__ == module.__name__
    }
    assert public - documented == set()


@pytest.mark.parametrize(("component", "case", "side"), ERRORS)
def test_misuse_is_refused_alike(component: str, case: ErrorCase, side: str) -> None:
    impl = sibling(component, side)
    dtype = "float64" if side == "reference" else "float32"
    with pytest.raises(case.error) as caught:
        case.call(Side(name=side, impl=impl, backend=get_backend(side), dtype=dtype))
    assert type(caught.value) is case.error, "a subclass on one side is another kind of error"
    assert re.search(case.match, str(caught.value)), str(caught.value)


@pytest.mark.parametrize("component", COMPONENTS)
def test_every_component_refuses_something(component: str) -> None:
    errors = load_component(component).errors
    assert errors
    assert len({case.id for case in errors}) == len(errors)
    for case in errors:
        assert set(case.sides) <= set(SIBLINGS)
        assert not re.search(case.match, ""), f"{case.id}: matches any message"


def test_specs_import_no_framework() -> None:
    code = (
        "import sys; from impls import COMPONENTS, load_component\n"
        "for name in COMPONENTS: load_component(name)\n"
        "print([m for m in ('torch', 'tensorflow', 'keras', 'gym', 'gymnasium') "
        "if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "[]", done.stderr


@pytest.mark.parametrize("component", COMPONENTS)
def test_the_contract_is_documented(component: str) -> None:
    for part in load_component(component).contract:
        text = inspect.getdoc(part) or ""
        assert len(text.splitlines()) > 1, f"{part.__name__} needs more than a line"
        if inspect.isclass(part):
            for name, method in methods(part).items():
                if not name.startswith("__"):
                    assert inspect.getdoc(method), f"{part.__name__}.{name}"


def nodes(path: Path) -> Iterator[ast.AST]:
    return ast.walk(ast.parse(path.read_text(encoding="utf-8")))


SEEDING = {"seed", "manual_seed", "set_seed", "set_random_seed", "seed_everything"}


SEEDS_ENVIRONMENTS = ("parity/debug/stepping.py",)
"""gym's old interface seeds an environment of the user's by a method of that name."""
SEEDS_FACTORIES = ("parity/debug/subjects.py",)
"""A user's factory draws the weights; torch's generator is put back afterwards."""


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_global_seed(path: Path) -> None:
    """Randomness is an argument: a seed call would hide a draw that differs by framework."""
    calls = [node for node in nodes(path) if isinstance(node, ast.Call)]
    names = [getattr(node.func, "attr", getattr(node.func, "id", "")) for node in calls]
    if path.relative_to(ROOT).as_posix() in SEEDS_ENVIRONMENTS:
        names = [name for name in names if name != "seed"]
    if path.relative_to(ROOT).as_posix() in SEEDS_FACTORIES and "fork_rng" in names:
        names.remove("manual_seed")
    assert SEEDING.isdisjoint(names)


BOUNDS = {"rtol", "atol", "tol", "tolerance"}

# A spec, the files that it is split into, and the table of defaults hold bounds.
WITHOUT_BOUNDS = [
    *(p for p in SOURCES if p.stem in SIBLINGS.values()),
    *(p for p in (ROOT / "parity").rglob("*.py") if p.name != "tolerance.py"),
    *(ROOT / "impls").glob("*.py"),
    *(ROOT / "tests" / "parity").glob("*.py"),
]


@pytest.mark.parametrize("path", WITHOUT_BOUNDS, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_tolerance_outside_its_places(path: Path) -> None:
    """A number that decides stands where its reason stands."""
    found = [
        f"line {node.value.lineno}: {node.arg}"
        for node in nodes(path)
        if isinstance(node, ast.keyword)
        and node.arg in BOUNDS
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, float)
        and node.value.value != 0.0  # exact is no tolerance
    ]
    found += [
        f"line {node.lineno}: Tolerance({ast.unparse(node.args[0])})"
        for node in nodes(path)
        if isinstance(node, ast.Call)
        and getattr(node.func, "id", getattr(node.func, "attr", "")) == "Tolerance"
        and node.args
        and isinstance(node.args[0], ast.Constant)
    ]
    assert found == []


HELPER = 7
"""Lines of a helper that needs no docstring."""


@pytest.mark.parametrize(
    "path",
    [p for p in SOURCES if not any(part.startswith("_") for part in p.parts[-2:-1])],
    ids=lambda p: str(p.relative_to(ROOT)),
)
def test_public_names_have_docstrings(path: Path) -> None:
    """Modules everywhere; functions and classes of the harness and of the specs.

    In the harness's subpackages a helper of a few lines may speak for itself.
    """
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert ast.get_docstring(tree), "the module says what it is for"
    if path.parts[-3] == "impls" and path.name != "spec.py":
        return  # siblings carry code; the contract is documented once
    api = path.parent in (ROOT / "parity", ROOT / "parity" / "checks") or path.name == "spec.py"
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    found = [
        node.name
        for node in tree.body
        if isinstance(node, kinds)
        and not node.name.startswith("_")
        and not node.name.startswith("pytest_")
        and not ast.get_docstring(node)
        and (api or (node.end_lineno or 0) - node.lineno > HELPER)
    ]
    assert found == []
