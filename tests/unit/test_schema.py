"""What the package writes as JSON is what the shipped schema says."""

from __future__ import annotations

import copy
import json
from importlib.resources import files
from typing import Any

import numpy as np
import pytest

from parity.api import compare
from parity.gate import gate
from parity.gate_output import as_json
from parity.results import Results
from tests.support.messages import MESSAGES
from tests.support.pages import hostile, network
from tests.support.results import document, row

jsonschema = pytest.importorskip("jsonschema")
SCHEMA = json.loads(files("parity").joinpath("schema.json").read_text(encoding="utf-8"))
REPORTS = {**MESSAGES, "network": lambda: network(3), "hostile": hostile}


def complaints(document: Any, kind: str) -> list[str]:
    """What is wrong with a document of this kind."""
    schema = {**SCHEMA, "oneOf": [{"$ref": f"#/$defs/{kind}"}]}
    del schema["$id"]
    found = jsonschema.Draft202012Validator(schema).iter_errors(document)
    return [f"{list(e.absolute_path)}: {e.message}" for e in found]


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("name", REPORTS)
def test_a_report(name: str) -> None:
    document = json.loads(REPORTS[name]().to_json())
    assert complaints(document, "report") == []
    jsonschema.Draft202012Validator(SCHEMA).validate(document)


def test_the_results_of_a_run() -> None:
    # a shared problem would hide in one report, so all of them
    rows = [json.loads(make().to_json()) for make in REPORTS.values()]
    results = Results({str(i): [row] for i, row in enumerate(rows)}, {"a": "why"}, {"b": "no"})
    document = json.loads(json.dumps(results.document(), default=str))
    assert complaints(document, "results") == []


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("verdict",), "fine"),
        (("max_abs",), "large"),
        (("schema",), 2),
        (("entries", 0, "differences", 0, "problem"), "odd"),
        (("entries", 0, "differences", 0, "shapes"), [[13]]),
        (("values_compared",), -1),
    ],
)
def test_a_document_of_another_form_is_refused(path: tuple[Any, ...], value: Any) -> None:
    q = np.linspace(0, 1, 13)
    document = json.loads(compare(torch=q, tf=q + 1).to_json())
    spoilt = copy.deepcopy(document)
    place = spoilt
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    assert complaints(document, "report") == []
    assert complaints(spoilt, "report") != []


def test_every_key_of_a_row_is_in_the_schema() -> None:
    q = np.linspace(0, 1, 13)
    row = compare(torch=q, tf=q + 1).summary()
    assert set(row) == set(SCHEMA["$defs"]["row"]["properties"])


def test_what_the_gate_found() -> None:
    before = document(row("a"), row("b"), row("c"))
    after = document(row("a", max_abs=float("inf"), verdict="diverge"), row("c"), row("new"))
    found = json.loads(as_json(gate(before, after)))
    assert {f["kind"] for f in found["findings"]} >= {"failed", "disappeared"}
    assert complaints(found, "gate") == []
    jsonschema.Draft202012Validator(SCHEMA).validate(found)
