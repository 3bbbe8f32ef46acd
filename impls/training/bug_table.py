"""Free runs of the correct pair and of every planted bug: are all verdicts right?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from impls.training.freerun import freerun
from impls.training.runs import Asked
from impls.training.side_by_side import bugs, first_line, with_bug

CORRECT = "(the correct pair)"


def bug_table(
    asked: Asked, updates: int, *, tell: Callable[[str], None] = lambda line: None
) -> list[dict[str, Any]]:
    """One row for the pair as it is, and one for each bug of it.

    A bug that this training does not reach (a branch never taken, a gradient that was zero anyway)
    changes nothing, and its verdict is ``chaos``: the row is not ``right`` then. A bug with which
    an update cannot be made at all (a gradient of the wrong shape) has the verdict ``raises``.

    Args:
        tell: called with a line for each row, as soon as it is known.

    Returns:
        Rows: ``bug``, ``verdict``, ``right``, ``excess``, ``horizon`` of each precision; of a bug
        that raises, ``error`` in place of the last two.
    """
    rows = []
    for bug in (None, *(m.id for m in bugs(asked.algorithm))):
        row = _row(asked, updates, bug)
        rows.append(row)
        note = "" if row["right"] else "  NOT SEEN" if bug else "  WRONG"
        found = row["error"] if "error" in row else f"excess {row['excess']:.1e}"
        tell(f"{row['bug']:<36} {row['verdict']:<8} {found}{note}")
    unseen = sum(not row["right"] for row in rows)
    tell(f"{len(rows) - unseen} of {len(rows)} verdicts right, {updates} updates each")
    return rows


def _row(asked: Asked, updates: int, bug: str | None) -> dict[str, Any]:
    try:
        with with_bug(asked.algorithm, bug) as impls:
            result = freerun(asked, updates, impls=impls)
    except Exception as error:
        if bug is None:  # of the correct pair, that is the caller's to hear
            raise
        said = f"{type(error).__name__}: {first_line(error)}"
        return {"bug": bug, "verdict": "raises", "right": True, "error": said}
    wanted = "chaos" if bug is None else "diverge"
    return {
        "bug": bug or CORRECT,
        "verdict": result.verdict,
        "right": result.verdict == wanted,
        "excess": result.excess,
        "horizon": {s.dtype: s.horizon for s in (result.float32, result.float64)},
    }
