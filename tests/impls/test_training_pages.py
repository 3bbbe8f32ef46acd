"""What ``lockstep`` and ``freerun`` write of two trainings: the page, and JSON by the schema."""

from __future__ import annotations

import json
import math
import re
from importlib.resources import files
from typing import Any

import pytest

from impls.training import freerun, lockstep
from impls.training.pages import freerun_page, lockstep_page
from impls.training.runs import Asked
from parity.results import plain

jsonschema = pytest.importorskip("jsonschema")
SCHEMA = json.loads(files("parity").joinpath("schema.json").read_text(encoding="utf-8"))
ODD = "<script>document.title = 'run'</script>\x1b[31m"


def asked(**settings: str) -> Asked:
    return Asked("ddpg", "torch", "Pendulum-v1", 3, settings=settings)


def stepped(error: float, *, roundings: int = 0) -> lockstep.Result:
    """A run of 50 updates of two links, the second of which has an error in update 7."""
    result = lockstep.Result(asked(tau=ODD), 50, 300, lockstep.BOUNDS["float32"])
    for link in ("target", ODD):
        worst = result.links[link] = lockstep.Worst(roundings=roundings)
        for update in range(50):
            seen = error if (link, update) == (ODD, 7) else 1e-8
            worst.see(update, "q", seen, 13)
            result.curves.setdefault(link, {})[update * lockstep.POINTS // 50] = seen
    if not error <= result.bound and not roundings:
        result.first = {"update": 7, "link": ODD, "entry": "q", "error": error}
    return result


def free(narrow: float, wide: float) -> freerun.Result:
    """Two runs whose differences grow by a tenth of a digit in each update."""
    series = [
        freerun.Series(dtype, [start * 10 ** (k / 10) for k in range(60)], steps=60)
        for dtype, start in (("float32", narrow), ("float64", wide))
    ]
    return freerun.judge(asked(), 60, *series)


def complaints(document: Any, kind: str) -> list[str]:
    text = json.loads(json.dumps(plain(document), allow_nan=False))
    jsonschema.Draft202012Validator(SCHEMA).validate(text)  # one of all kinds, and only one
    schema = {**SCHEMA, "oneOf": [{"$ref": f"#/$defs/{kind}"}]}
    del schema["$id"]
    return [e.message for e in jsonschema.Draft202012Validator(schema).iter_errors(text)]


def words(page: str) -> str:
    body = page.split("<main", 1)[1].split("<script", 1)[0]
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", body))


@pytest.mark.parametrize("error", [1e-8, 1e-3, math.inf, math.nan])
def test_a_lockstep_document_is_what_the_schema_says(error: float) -> None:
    assert complaints(stepped(error).document(), "lockstep") == []
    spoilt = {**stepped(error).document(), "first_difference": {"update": -1}}
    with pytest.raises(jsonschema.ValidationError):
        complaints(spoilt, "lockstep")


@pytest.mark.parametrize(("narrow", "wide"), [(1e-8, 1e-17), (1e-8, 1e-9), (0.0, 0.0)])
def test_a_freerun_document_is_what_the_schema_says(narrow: float, wide: float) -> None:
    assert complaints(free(narrow, wide).document(), "freerun") == []


@pytest.mark.parametrize(
    ("error", "roundings", "verdict"),
    [(1e-8, 0, "AGREE"), (1e-3, 0, "DIVERGE"), (math.inf, 0, "DIVERGE"), (1e-5, 2, "ROUNDING")],
)
def test_the_page_of_a_lockstep_run(error: float, roundings: int, verdict: str) -> None:
    page = lockstep_page(stepped(error, roundings=roundings), "python -m impls lockstep ddpg")
    text = words(page)
    assert verdict in text
    assert ("First difference: update 7" in text) == (verdict == "DIVERGE")
    assert "50 updates" in text or "updates 50" in text
    assert page.count('class="plot"') == 1
    assert "bound 1e-06" in text
    assert page.count("<script") == 2, "the data and the script of the page itself"
    assert "\x1b" not in page


@pytest.mark.parametrize(("wide", "verdict"), [(1e-17, "CHAOS"), (1e-9, "DIVERGE")])
def test_the_page_of_a_free_run(wide: float, verdict: str) -> None:
    text = words(freerun_page(free(1e-8, wide), "python -m impls freerun ddpg"))
    assert verdict in text
    assert "horizon in float32 update 22" in text
