"""Differences that are known and accepted, each with its reason, bound, link and last day.

The ledger is a JSON file, a list of objects with exactly these five fields::

    [{"id": "losses/function.huber_loss[batch]-float32-eager", "bound": 3e-6,
      "reason": "...", "link": "https://...", "expires": "2026-12-31"}]

An entry excuses one check up to its bound. One that excuses nothing, or is past its last day, is
itself a failure: an exception that nobody needs any more must not wait to hide something else.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import date
from pathlib import Path
from typing import Any

from parity.errors import InvalidInput


@dataclass(frozen=True)
class Accepted:
    """One accepted difference.

    Attributes:
        id: of the check, as in the report.
        bound: the largest error it may have, relative to ``max(1, |reference|)``.
        reason: why it is accepted.
        link: where that was decided: an issue, a pull request, a page.
        expires: the last day on which it counts.
    """

    id: str
    bound: float
    reason: str
    link: str
    expires: date

    def expired(self, today: date) -> bool:
        return today > self.expires


def read_accepted(path: str | os.PathLike[str]) -> dict[str, Accepted]:
    """The entries of a ledger by id.

    Raises:
        InvalidInput: the file is missing or no ledger; the message names the entry and field.
    """
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidInput(f"{path}: {error.strerror or error}") from None
    except ValueError as error:
        raise InvalidInput(f"{path}: not JSON ({error})") from None
    if not isinstance(document, list):
        raise InvalidInput(f"{path}: a ledger is a list of accepted differences")
    found: dict[str, Accepted] = {}
    for number, entry in enumerate(document):
        try:
            accepted = _entry(entry)
        except InvalidInput as error:
            raise InvalidInput(f"{path}: entry {number}: {error}") from None
        if accepted.id in found:
            raise InvalidInput(f"{path}: {accepted.id} is listed twice")
        found[accepted.id] = accepted
    return found


def _entry(entry: Any) -> Accepted:
    wanted = [field.name for field in fields(Accepted)]
    if not isinstance(entry, Mapping) or sorted(entry) != sorted(wanted):
        raise InvalidInput(f"an object with exactly the fields {', '.join(wanted)} was expected")
    for name in ("id", "reason", "link"):
        if not (isinstance(entry[name], str) and entry[name].strip()):
            raise InvalidInput(f"{name} must be a text that says something")
    bound = entry["bound"]
    number = isinstance(bound, (int, float)) and not isinstance(bound, bool)
    if not (number and math.isfinite(bound) and bound > 0):
        raise InvalidInput(f"bound={bound!r} must be a finite number above 0")
    try:
        expires = date.fromisoformat(entry["expires"])
    except (TypeError, ValueError):
        raise InvalidInput(f"expires={entry['expires']!r} must be a day, YYYY-MM-DD") from None
    return Accepted(entry["id"], float(bound), entry["reason"], entry["link"], expires)
