"""``parity explain``: the page of a cause in the terminal."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path

import click

PAGE = Path(__file__).parent / "diagnose" / "porting.md"
"""``docs/porting.md`` as it is installed with the package."""
WIDTH = 80


@dataclass(frozen=True)
class Entry:
    """One cause: what the catalogue says, and the cases that the page has of it."""

    name: str
    title: str
    symptom: str
    fix: str
    cases: str


@click.command()
@click.argument("cause", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def explain(cause: str | None, as_json: bool) -> None:
    """Say what a cause means, how it shows, and what to change.

    Without a CAUSE, list all of them.

    \b
    parity explain norm-epsilon
    parity explain epsilon          every cause with that in its name or text
    """
    from parity.cli import fail

    known = entries()
    if cause is None:
        _list(list(known.values()), as_json)
        return
    asked = cause.strip().rpartition("#")[2].lower()  # a link of a report may be pasted whole
    if asked in known:
        _show(known[asked], as_json)
        return
    found = [e for e in known.values() if asked and asked in _words(e)]
    if found:
        _list(found, as_json)
        return
    near = get_close_matches(asked, known, n=3, cutoff=0.5)
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    fail(f"explain: no cause is called {cause!r}{hint} (parity explain lists all)")


@lru_cache(maxsize=1)
def entries() -> Mapping[str, Entry]:
    """Every cause that a report may name, by name, in alphabetical order."""
    from parity.diagnose.causes import CAUSES

    sections = dict(_sections(PAGE.read_text(encoding="utf-8")))
    found = {}
    for name in sorted({*sections, *CAUSES}):
        cases, info = sections.get(name, ""), CAUSES.get(name)
        first = re.search(r"\*\*(.*?)\*\*", cases)
        found[name] = Entry(
            name,
            title=info.title if info else first[1] if first else name,
            symptom=info.symptom if info else _line(cases, "Symptom"),
            fix=info.fix if info else _line(cases, "Fix"),
            # what the catalogue says stands on the page where there is no case
            cases="" if info and f"**{info.title}**" in cases else cases,
        )
    return found


def _sections(page: str) -> Iterator[tuple[str, str]]:
    """Each heading and alias of the page with the text under it."""
    for match in re.finditer(r"^### (\S+)\n(.*?)(?=^##|\Z)", page, re.M | re.S):
        text = re.sub(r'<a id="[^"]*"></a>\n', "", match[2])
        # links lead to files that only a checkout has
        text = re.sub(r" \(\[[^\]]*\]\([^)]*\)\)", "", text)
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text).strip()
        for name in (match[1], *re.findall(r'<a id="([^"]*)">', match[2])):
            yield name, text


def _line(cases: str, label: str) -> str:
    match = re.search(rf"^- {label}: (.*)$", cases, re.M)
    return match[1] if match else ""


def _words(entry: Entry) -> str:
    return " ".join((entry.name, entry.title, entry.symptom, entry.fix, entry.cases)).lower()


def _list(found: list[Entry], as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps([_facts(entry) for entry in found], indent=1))
        return
    width = max(len(entry.name) for entry in found)
    room = max(20, WIDTH - width - 2)
    for entry in found:
        title = re.sub(r"\\([*|<])", r"\1", entry.title)
        title = title if len(title) <= room else title[: room - 1] + "~"
        click.echo(f"{entry.name:<{width}}  {title}")
    click.echo(f"\n{len(found)} causes; parity explain CAUSE shows one")


def _show(entry: Entry, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(_facts(entry), indent=1))
        return
    from rich.console import Console
    from rich.markdown import Markdown

    head = f"# {entry.name}\n\n"
    from parity.diagnose.causes import CAUSES

    if entry.name in CAUSES:
        head += f"**{entry.title}**\n\n- Symptom: {entry.symptom}\n- Fix: {entry.fix}\n\n"
    if entry.cases:
        head += ("Seen in ports:\n\n" if entry.name in CAUSES else "") + entry.cases
    Console(width=min(WIDTH, Console().width), highlight=False).print(Markdown(head))


def _facts(entry: Entry) -> dict[str, str]:
    return {
        "cause": entry.name,
        "title": entry.title,
        "symptom": entry.symptom,
        "fix": entry.fix,
        "docs": f"docs/porting.md#{entry.name}",
    }
