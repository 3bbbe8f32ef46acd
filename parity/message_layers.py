"""What is said about two modules: the table of layers, the pairing, settings, structure."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from parity.text import cells, column, cut, printable, wrap

ROWS = 12
"""Rows of a table shown at the default verbosity; the rest are counted."""

CODE = 68
"""Columns of a line of code."""

_VERDICTS = {
    "differs": "differs",
    "input": "input differs",
    "float32": "float32 inside",
    "agree": "",
}


def layers(subject: Mapping[str, Any], *, verbosity: int) -> list[str]:
    """The layers in execution order, what is unpaired, and what cannot be told from the data."""
    lines: list[str] = []
    rows = list(subject.get("table") or ())
    if rows:
        lines += ["", *_table(rows, verbosity)]
    elif verbosity >= 2 and subject.get("layers"):
        lines += ["", *_pairing(subject["layers"])]
    for side in ("torch", "tf"):
        alone = subject.get(f"only_{side}") or ()
        if alone and (rows or verbosity >= 2):
            names = ", ".join(cut(printable(name), 60) for name in alone)
            lines += wrap(f"without partner, {side}: {names}", "  ")
    return lines


def notes(subject: Mapping[str, Any], causes: Sequence[Mapping[str, Any]] = ()) -> list[str]:
    """Sentences about the check as a whole; a setting that is a cause is not said twice."""
    lines = [
        f"{row['place']} rounds to float32 inside a float64 run (error {row['error']:.2g}): "
        "a constant or a cast of the framework, not counted as a difference"
        for row in subject.get("float32_inside") or ()
    ]
    lines += [
        f"no cause was found at {place}; the layer before it and the inputs agree"
        for place in subject.get("unexplained") or ()
    ]
    lines += [
        f"no float64 evidence: {reason}"
        for reason in (subject.get("no_float64") or {}).values()
        if subject.get("check") == "module"
    ]
    lines += [
        f"{name} is a buffer of {side} only, taken for a constant of the other side's code"
        for name, side in subject.get("constants") or ()
    ]
    lines += [f"network {name}: {said}" for name, said in (subject.get("networks") or {}).items()]
    if subject.get("not_differentiated"):
        lines.append(
            "torch detaches all that it returns, so gradients are not compared; where the tf "
            "function is called inside a tape, wrap what it returns in tf.stop_gradient"
        )
    if subject.get("not_remade"):
        lines.append(
            "each environment was run once, as given; give factories (functions that make one): "
            "then causes are tried on fresh ones"
        )
    looked = subject.get("search")
    if looked and not looked["found"]:
        lines.append(
            f"the search tried {looked['tried']} other inputs, outputs first and gradients then: "
            "the sides differ on none of them"
        )
    said = {
        (place, cause.get("cause"))
        for cause in causes
        for place in (cause.get("places") or [cause.get("place")])
    }
    settings = [s for s in subject.get("config") or () if (s["layer"], s.get("cause")) not in said]
    return lines + _settings(settings)


def _table(rows: Sequence[Mapping[str, Any]], verbosity: int) -> list[str]:
    lines = [f"  {'torch layer':<20} {'tf layer':<20} {'propagated':>10} {'local':>8} verdict"]
    shown = list(rows)
    if not verbosity and len(shown) > ROWS:
        first = next((i for i, r in enumerate(rows) if r["verdict"] != "agree"), 0)
        start = max(0, first - 2)
        chosen = [
            i for i, r in enumerate(rows) if r["verdict"] != "agree" or i in (start, start + 1)
        ]
        shown = [rows[i] for i in sorted(set(chosen))][:ROWS]
    for row in shown:
        lines.append(
            f"  {column(row['torch'], 20)} {column(row['tf'], 20)} "
            f"{_number(row['propagated']):>10} {_number(row['local']):>8} "
            f"{_VERDICTS.get(row['verdict'], row['verdict'])}".rstrip()
        )
        if row["verdict"] in ("differs", "input"):
            where = row.get("where") or {}
            lines += [f"    {side}: {_code(str(line))}" for side, line in where.items()]
    if len(shown) < len(rows):
        lines.append(f"  ... and {len(rows) - len(shown)} more layers (-v shows all)")
    return lines


def _code(line: str) -> str:
    """``/home/me/port.py:12: return x``, without the folder where that is too long."""
    shown = printable(line)
    if cells(shown) > CODE:
        shown = re.sub(r"^[^:]*[/\\](?=[^/\\:]+:\d+)", "", shown)
    return cut(shown, CODE)


def _number(value: Any) -> str:
    if value is None:
        return "-"
    return "shape" if math.isinf(value) else f"{value:.1e}"


def _pairing(layers_: Sequence[Mapping[str, Any]]) -> list[str]:
    lines = [f"  {'torch layer':<30} {'tf layer':<30} kind"]
    return lines + [
        f"  {column(row['torch'], 30)} {column(row['tf'], 30)} {row['kind']}" for row in layers_
    ]


def tried(subject: Mapping[str, Any]) -> list[str]:
    """The hypotheses that were tried, with the error before and after, the best first."""
    rows = subject.get("tried") or ()
    if not rows:
        return []
    lines = ["", f"  {'tried':<26} {'place':<18} {'trials':>6} {'before':>8} {'after':>8}"]
    for row in rows:
        after = "no run" if row["after"] is None else f"{row['after']:.1e}"
        lines.append(
            f"  {column(row['cause'], 26)} {column(row['place'], 18)} {row['trials']:>6} "
            f"{row['before']:>8.1e} {after:>8}{' removes' if row['removes'] else ''}"
        )
    return lines


def _settings(settings: Sequence[Mapping[str, Any]]) -> list[str]:
    return [
        f"setting: {row['layer']}: {row['name']} is {row['torch']} in torch, {row['tf']} in tf"
        + (" (acts in training mode only)" if row.get("training") else "")
        for row in settings
    ]


def _weight_missing(name: str, d: Mapping[str, Any]) -> str:
    return (
        f"other networks: {name} {tuple(d['shape'])} is a weight of {d['has']} only; "
        f"{d['lacks']}'s {d['layer']} has no {d['name']}"
    )


def _weight_shape(name: str, d: Mapping[str, Any]) -> str:
    return (
        f"other networks: {name} has shape {tuple(d['torch'])} in torch, {d['tf_name']} "
        f"{tuple(d['tf'])} in tf (canonical layout): give both layers the same sizes"
    )


def _layer_missing(name: str, d: Mapping[str, Any]) -> str:
    shapes = ", ".join(f"{k} {tuple(v)}" for k, v in d["weights"].items())
    other = "tf" if d["has"] == "torch" else "torch"
    return (
        f"other networks: {d['has']} has a {d['kind']} layer {name} ({shapes}) that {other} lacks; "
        "add it there, or name its partner in a map file"
    )


def _parameter_missing(name: str, d: Mapping[str, Any]) -> str:
    return f"other networks: the parameter {name} {tuple(d['shape'])} exists in {d['has']} only"


PROBLEMS: Mapping[str, Callable[[str, Mapping[str, Any]], str]] = {
    "weight-missing": _weight_missing,
    "weight-shape": _weight_shape,
    "layer-missing": _layer_missing,
    "parameter-missing": _parameter_missing,
}
