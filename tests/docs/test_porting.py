"""`docs/porting.md` is what the corpus says, and nothing of the corpus is missing from it."""

from __future__ import annotations

import re

from parity.diagnose.causes import CAUSES
from scripts import porting_docs
from tests.corpus import loading


def test_the_page_is_current() -> None:
    for path in (porting_docs.PAGE, porting_docs.PACKAGED):
        written = path.read_text(encoding="utf-8")
        assert written == porting_docs.page(), "run: python scripts/porting_docs.py"


def test_every_case_is_on_the_page() -> None:
    page = porting_docs.page()
    missing = [c.id for c in loading.read_all() if f"[{c.id}](" not in page]
    assert not missing


def test_every_cause_has_an_anchor() -> None:
    """A report links to ``docs/porting.md#<cause>``."""
    page = porting_docs.page()
    anchors = re.findall(r"^### (\S+)$", page, re.MULTILINE) + re.findall(r'<a id="(.+?)">', page)
    causes = {name for c in loading.read_all() for cause in c.causes for name in cause.split("|")}
    assert causes | set(CAUSES) == set(anchors)
    assert len(anchors) == len(set(anchors))


def test_every_claim_has_a_verdict() -> None:
    rows = porting_docs.page().partition("## Claims that were tried")[2].splitlines()
    table = [row for row in rows if row.startswith("| ")][1:]
    assert len(table) > 10
    assert all(len(cell.strip()) > 3 for row in table for cell in row.strip("|").split(" | "))
