"""Free runs of the correct pair and of every planted bug: are all verdicts right?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from impls.training.freerun import freerun
from impls.training.runs import Asked
from impls.training.side_by_side import bugs, with_bug

CORRECT = "(the correct pair)"


def bug_table(
    asked: Asked, updates: int, *, tell: Callable[[str], None] = lambda line: None
) -> list[dict[str, Any]]:
    """One row for the pair as it is, and one for each bug of it.

    A bug that this training does not reach (a branch never taken, a gradient that was zero anyway)
    changes nothing, and its verdict is ``chaos``: the row is not ``right`` then.

    Args:
        tell: called with a line for each row, as soon as it is known.

    Returns:
        Rows: ``bug``, ``verdict``, ``right``, ``excess``, ``horizon`` of each precision.
    """
    rows = []
    for bug in (None, *(m.id for m in bugs(asked.algorithm))):
        with with_bug(asked.algorithm, bug) as impls:
            result = freerun(asked, updates, impls=impls)
        wanted = "chaos" if bug is None else "diverge"
        row = {
            "bug": bug or CORRECT,
            "verdict": result.verdict,
            "right": result.verdict == wanted,
            "excess": result.excess,
            "horizon": {s.dtype: s.horizon for s in (result.float32, result.float64)},
        }
        rows.append(row)
        note = "" if row["right"] else "  NOT SEEN" if bug else "  WRONG"
        tell(f"{row['bug']:<36} {result.verdict:<8} excess {result.excess:.1e}{note}")
    unseen = sum(not row["right"] for row in rows)
    tell(f"{len(rows) - unseen} of {len(rows)} verdicts right, {updates} updates each")
    return rows
