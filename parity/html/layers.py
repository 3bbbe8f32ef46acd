"""The layers of two models as two trees side by side, aligned in the order of execution."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from parity.text import cut, printable

_KNOWN = {"differs": "differs here", "input": "input differs", "float32": "float32 inside"}
ERRORS = ("propagated32", "propagated64", "local32", "local64")
SHUT = 60
"""A tree of more layers opens with those groups shut in which everything agrees."""

NAME, KIND = 300, 40
"""Characters of a name, and of a kind of layer; the middle of a longer one goes."""
DEEPEST = 30
"""Levels of a tree; below them names stand whole."""

Row = dict[str, Any]


def layer_rows(subject: Mapping[str, Any], entries: Mapping[str, Mapping[str, Any]]) -> list[Row]:
    """A row for each layer, paired or alone, in execution order; errors where they are known.

    Args:
        entries: rows of :mod:`parity.html.view` by name.
    """
    told = {(row["torch"], row["tf"]): row for row in subject.get("table") or ()}
    narrow = {(row["torch"], row["tf"]): row for row in subject.get("table32") or ()}
    gradients = _gradients(entries.values())
    rows = []
    for pair in subject.get("layers") or ():
        key = (pair["torch"], pair["tf"])
        row, row32 = told.get(key, {}), narrow.get(key, {})
        entry = entries.get(_name(f"forward/{pair['torch']}/output"))
        gradient = gradients.get(_name(pair["torch"]))
        rows.append(
            {
                "torch": _name(pair["torch"]),
                "tf": _name(pair["tf"]),
                "kind": cut(printable(str(pair["kind"])), KIND),
                "propagated32": entry["max_abs"] if entry else None,
                "propagated64": entry["max_abs64"] if entry else None,
                "local32": row32.get("local"),
                "local64": row.get("local"),
                "headroom": entry["headroom"] if entry else None,
                "gradient": gradient["headroom"] if gradient else None,
                "gradient_index": gradient["index"] if gradient else None,
                "verdict": _verdict(row, entry),
                "here": row.get("verdict") in ("differs", "input"),
                "level": _level(row, entry),
                "gradient_level": int(gradient["level"]) if gradient else None,
                "index": entry["index"] if entry else None,
                "where": {k: _name(str(v)) for k, v in (pair.get("where") or {}).items()},
            }
        )
    return _with_lone(rows, subject)


def _name(text: str) -> str:
    return cut(printable(text), NAME)


def tree(rows: Sequence[Row]) -> list[Row]:
    """The rows of two trees, parents before children.

    A group holds the neighbours that share a container on a side. Where both sides have one around
    the same layers it is one row, so equal parts of the two trees stand at one height.
    """
    made: list[Row] = []
    leaves = [(row, (_path(row["torch"]), _path(row["tf"]))) for row in rows]
    _grow(leaves, (0, 0), 1, made)
    shut = len(rows) > SHUT
    for row in made:
        if row["group"]:
            row["open"] = not shut or row["level"] > 1 or row["here"]
        row["lines"] = [f"{s}: {_short(line)}" for s, line in row["where"].items()]
    return made


def _short(line: str) -> str:
    """``/home/me/port.py:12: return x`` as ``port.py:12``."""
    found = re.match(r"(?:.*[/\\])?([^/\\]+?:\d+)(?::|$)", line)
    return found[1] if found else line


_Leaf = tuple[Row, tuple[list[str], list[str]]]


def _path(name: str) -> list[str]:
    """``a/b.c`` as ``a/``, ``b.``, ``c``."""
    return re.findall(r"[./]*[^./]+[./]?|[./]+", name)


def _grow(leaves: Sequence[_Leaf], used: tuple[int, int], depth: int, made: list[Row]) -> None:
    """Add the rows of some leaves, ``used`` components of whose paths stand above them."""
    blocks, i = [], 0
    while i < len(leaves):
        spans = [_span(leaves[i:], side, used[side]) for side in (0, 1)]
        size = max(spans) if depth < DEEPEST else 1
        down = [used[side] + (size > 1 and spans[side] == size) for side in (0, 1)]
        blocks.append((leaves[i : i + size], (down[0], down[1])))
        i += size
    for place, (inside, below) in enumerate(blocks, 1):
        seat = {"depth": depth, "place": place, "of": len(blocks), "indent": used}
        row, paths = inside[0]
        if len(inside) == 1:
            names = ["".join(paths[side][used[side] :]) for side in (0, 1)]
            made.append({**row, **seat, "group": False, "names": names})
            continue
        names = [_container(inside, side, used[side], below[side]) for side in (0, 1)]
        made.append({**_summary([row for row, _ in inside]), **seat, "names": names})
        _grow(inside, below, depth + 1, made)


def _span(leaves: Sequence[_Leaf], side: int, used: int) -> int:
    """How many leaves from the first on stand in one container of a side; others may lack it."""
    first = leaves[0][1][side]
    if len(first) < used + 2:
        return 1
    last = 0
    for i, (_, paths) in enumerate(leaves):
        path = paths[side]
        if path and (len(path) < used + 2 or path[used] != first[used]):
            break
        last = i if path else last
    return last + 1


def _container(inside: Sequence[_Leaf], side: int, used: int, below: int) -> str:
    """The name of a group on a side; empty where it has none there."""
    if below == used:
        return ""
    return next(p[side][used] for _, p in inside if p[side]).rstrip("./")


def _summary(rows: Sequence[Row]) -> Row:
    """What a group says of its layers: the worst of each number."""
    worst: Row = {
        key: max((r[key] for r in rows if r[key] is not None), key=_size, default=None)
        for key in (*ERRORS, "headroom", "gradient", "gradient_level")
    }
    here = [r for r in rows if r["here"]]
    level = max(r["level"] for r in rows)
    return {
        **worst,
        "group": True,
        "kind": f"{len(rows)} layers",
        "verdict": "differs inside" if here else "handed on" if level > 1 else "",
        "here": bool(here),
        "level": level,
        "index": None,
        "gradient_index": None,
        "where": {},
        "torch": "",
        "tf": "",
    }


def _size(value: float) -> float:
    return math.inf if math.isnan(value) else value


def _with_lone(rows: list[Row], subject: Mapping[str, Any]) -> list[Row]:
    """The layers without partner as well, each behind the pair that ran before it."""
    behind = subject.get("only_at") or {}
    lone: dict[int, list[Row]] = {}
    for side in ("torch", "tf"):
        for number, path in enumerate(subject.get(f"only_{side}") or ()):
            at = behind.get(side) or ()
            numbers = ("headroom", "gradient", "gradient_level", "gradient_index", "index")
            row = dict.fromkeys((*ERRORS, *numbers))
            other = "tf" if side == "torch" else "torch"
            made: Row = {**row, side: _name(path), other: "", "kind": "", "here": False,
                         "level": 0, "verdict": f"{side} only", "where": {}}  # fmt: skip
            lone.setdefault(at[number] if number < len(at) else len(rows), []).append(made)
    found = list(lone.get(0, ()))
    for number, row in enumerate(rows, 1):
        found += [row, *lone.get(number, ())]
    return found


def owner(entry: str, layers: Collection[str]) -> str:
    """The layer that an entry such as ``grad/body.1/kernel`` belongs to; empty where none."""
    rest = entry.partition("/")[2]
    while rest and rest not in layers:
        rest = rest.rpartition("/")[0]
    return rest


def _gradients(entries: Iterable[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """The worst gradient of each layer's weights."""
    worst: dict[str, Mapping[str, Any]] = {}
    for entry in entries:
        head, _, rest = str(entry["name"]).partition("/")
        layer = rest.rpartition("/")[0]
        if head == "grad" and layer:
            known = worst.get(layer)
            if known is None or entry["headroom"] > known["headroom"]:
                worst[layer] = entry
    return worst


def _verdict(row: Mapping[str, Any], entry: Mapping[str, Any] | None) -> str:
    """A layer that only hands on what came in is not at fault."""
    if row.get("verdict") in _KNOWN:
        return _KNOWN[str(row["verdict"])]
    return "handed on" if entry and entry["level"] > 1 else ""


def _level(row: Mapping[str, Any], entry: Mapping[str, Any] | None) -> int:
    """By the outputs alone: gradients hand errors back to layers that have no part in them."""
    own = int(entry["level"]) if entry else 0
    return max(own, 2 if row.get("verdict") in ("differs", "input") else 0)
