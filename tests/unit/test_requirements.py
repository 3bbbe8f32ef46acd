"""``PARITY_REQUIRE`` and the look for packages."""

from __future__ import annotations

import pytest

from parity.errors import InvalidInput
from parity.requirements import missing, module_name, parse_required, required


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", ()),
        ("torch", ("torch",)),
        ("torch,tf,gym,gymnasium", ("torch", "tf", "gym", "gymnasium")),
        (" TF , Torch ", ("tf", "torch")),
        ("tensorflow tf", ("tf",)),
        ("Box2D", ("box2d",)),
        ("gpu Chromium", ("gpu", "chromium")),
        (",,", ()),
    ],
)
def test_names_and_separators(text: str, names: tuple[str, ...]) -> None:
    assert parse_required(text) == names


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("torhc", "torch"),
        ("gymnasum", "gymnasium"),
        ("tensorflw", "tensorflow"),
        ("chromum", "chromium"),
    ],
)
def test_a_misspelt_name_gets_a_hint(text: str, hint: str) -> None:
    with pytest.raises(InvalidInput, match=f"unknown package '{text}'; did you mean '{hint}'"):
        parse_required(f"torch,{text}")


def test_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARITY_REQUIRE", "gym")
    assert required() == ("gym",)
    monkeypatch.delenv("PARITY_REQUIRE")
    assert required() == ()


def test_missing_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    assert missing(["numpy", "json", "no_such_package"]) == ("no_such_package",)
    monkeypatch.setitem(__import__("sys").modules, "tensorflow", None)
    assert missing(["tensorflow"]) == missing(["tf"]) == ("tf",)


def test_module_names() -> None:
    assert [module_name(n) for n in ("tf", "Box2D", "box2d", "else")] == [
        "tensorflow",
        "Box2D",
        "Box2D",
        "else",
    ]


def test_a_gpu_can_be_required_and_is_no_package() -> None:
    assert parse_required("torch,GPU") == ("torch", "gpu")
    assert missing(("gpu", "no_such_package")) == ("no_such_package",)
