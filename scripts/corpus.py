"""Score `parity check` on a corpus of porting faults.

    python scripts/corpus.py [--cases FOLDER] [--truth FILE] [--json] [--quiet] [SUBSTRING ...]

Every buggy pair should be detected, placed where the fault is and explained by its cause; every
fixed pair should pass. Exits with 1 if a fault goes undetected or a correct pair raises an alarm.

FOLDER is one like tests/corpus/cases, or a flat one of files that expose ``build_torch``,
``build_tf_buggy`` and ``build_tf_fixed``. ``--truth`` gives causes and places that the files of a
flat folder do not say: JSON, case -> {"cause": "a|b", "place": "c"}.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import numpy as np  # noqa: E402
import torch  # noqa: E402  before TensorFlow, which the check imports

from parity.debug.check import check  # noqa: E402
from parity.errors import AlignmentError, TransferError  # noqa: E402
from parity.report import Report  # noqa: E402
from parity.verdict import Verdict  # noqa: E402
from scripts.corpus_pairs import Pair, read_pairs  # noqa: E402

SHOWN = (Verdict.DIVERGE, Verdict.LATENT)


@dataclass(frozen=True)
class Score:
    """What became of one pair.

    Attributes:
        said: the verdict, or the error that was raised.
        detected: the fault was seen; for a fixed pair, an alarm was raised.
        placed, explained: for each fault of the case.
        first, causes: what the report says.
    """

    name: str
    kind: str
    side: str
    said: str
    detected: bool
    placed: tuple[bool, ...] = ()
    explained: tuple[bool, ...] = ()
    first: str = ""
    causes: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def good(self) -> bool:
        if self.side == "fixed":
            return not self.detected
        return self.detected and all(self.placed) and all(self.explained)


def score(pair: Pair, side: str) -> Score:
    """Run one check; whatever it raises is part of the answer."""
    started = time.monotonic()
    torch.manual_seed(1)
    np.random.seed(2)
    report: Report | None = None
    try:
        report = check(pair.torch, getattr(pair, side), pair.inputs, **pair.options)
        said = str(report.verdict)
        detected = report.verdict in SHOWN if side == "buggy" else not passes(report)
    except (AlignmentError, TransferError) as error:
        said, detected = f"refused: {_line(error)}", True
    except Exception as error:  # one case must not end the run
        said, detected = f"{type(error).__name__}: {_line(error)}", side == "fixed"
    seconds = round(time.monotonic() - started, 2)
    found = Score(pair.name, pair.kind, side, said, detected, seconds=seconds)
    if side == "fixed" or report is None:
        nothing = (False,) * len(pair.causes)
        return found if side == "fixed" else Score(**{**_plain(found), **_marks(nothing, nothing)})
    places = [e.name for e in report.failing] + [str(f) for f in report.subject.get("faults", ())]
    first = report.first_divergence.name if report.first_divergence else ""
    causes = reported(report)
    stacked = len(pair.places) > 1
    where = [
        first,
        *(places if stacked else ()),
        *(str(c.get("place", "")) for c in report.causes[:1]),
    ]
    return Score(
        **{
            **_plain(found),
            **_marks(
                tuple(any(at(w, p) for w in where) for p in pair.places),
                tuple(any(c in causes for c in cause.split("|")) for cause in pair.causes),
            ),
            "first": first,
            "causes": causes,
        }
    )


def passes(report: Report) -> bool:
    """A correct pair may be float32 inside a float64 run; what is named a cause is an alarm."""
    if report.verdict is Verdict.LATENT:
        named = {str(cause.get("cause")) for cause in report.causes}
        return bool(report.subject.get("float32_inside")) and named <= {"float32-inside"}
    return report.passed


def reported(report: Report) -> tuple[str, ...]:
    """Ids of the causes: the one named, those it cannot be told from, and those peeled off next."""
    found: list[str] = []
    for cause in report.causes:
        found.append(str(cause.get("cause")))
        for other in cause.get("alternatives", ()):
            found.append(str(other.get("cause", other) if isinstance(other, dict) else other))
    return tuple(dict.fromkeys(found))


def at(name: str, place: str) -> bool:
    """Whether an entry of the report is at the place that a case names.

    A place is a torch layer, a layer's input, an output, a gradient, a step, or, in a rollout, the
    last part of the name.
    """
    scope, _, rest = name.partition("/")
    names = {name, rest, f"grad/{rest}"} if scope.startswith("grad") else {name, rest}
    return any(
        n == wanted or n.startswith(f"{wanted}/") or n.endswith(f"/{wanted}")
        for n in names
        for wanted in place.split("|")
    )


def table(scores: Sequence[Score]) -> str:
    """Per kind: how many faults, and how many of them were detected, placed and explained."""
    rows = [("kind", "faults", "detected", "placed", "explained", "correct", "false alarms")]
    kinds = list(dict.fromkeys(s.kind for s in scores))
    for kind in [*kinds, ""]:
        mine = [s for s in scores if kind in ("", s.kind)]
        bad = [s for s in mine if s.side == "buggy"]
        fixed = [s for s in mine if s.side == "fixed"]
        counts = (
            len(bad),
            sum(s.detected for s in bad),
            sum(s.detected and all(s.placed) for s in bad),
            sum(s.detected and all(s.explained) for s in bad),
            len(fixed),
            sum(s.detected for s in fixed),
        )
        rows.append((kind or "all", *(str(n) for n in counts)))
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = [
        "  ".join(
            c.ljust(w) if i == 0 else c.rjust(w)
            for i, (c, w) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]
    lines.insert(-1, "-" * len(lines[0]))
    return "\n".join(lines)


def line(result: Score, pair: Pair) -> str:
    """One row of the progress: what is missing, and what the report says instead."""
    mark = "ok  " if result.good else "MISS"
    if result.side == "fixed":
        return f"{mark} {result.name:42} fixed  {result.said[:90]}"
    missing = [] if result.detected else ["undetected"]
    missing += [f"place {p}" for p, ok in zip(pair.places, result.placed, strict=True) if not ok]
    missing += [f"cause {c}" for c, ok in zip(pair.causes, result.explained, strict=True) if not ok]
    told = f"{result.said[:60]} at {result.first or '?'}: {', '.join(result.causes) or 'no cause'}"
    return f"{mark} {result.name:42} buggy  {told}" + (
        f"   (wanted {'; '.join(missing)})" if missing else ""
    )


def main(arguments: Iterable[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("substrings", nargs="*", help="only cases whose kind/name has one of these")
    parser.add_argument("--cases", type=Path, default=ROOT / "tests" / "corpus" / "cases")
    parser.add_argument("--truth", type=Path, help="causes and places of a flat folder's cases")
    parser.add_argument("--json", action="store_true", help="all scores as JSON instead of a table")
    parser.add_argument("--quiet", action="store_true", help="show only what is missing")
    options = parser.parse_args(None if arguments is None else list(arguments))
    warnings.filterwarnings("ignore")
    truth = json.loads(options.truth.read_text(encoding="utf-8")) if options.truth else {}
    scores = []
    for pair in read_pairs(options.cases, options.substrings, truth):
        for side in ("fixed", "buggy") if pair.buggy is not None else ("fixed",):
            result = score(pair, side)
            scores.append(result)
            if not options.json and not (options.quiet and result.good):
                print(line(result, pair), flush=True)
    if not scores:
        print(f"no case in {options.cases} matches {options.substrings}", file=sys.stderr)
        return 2
    print(json.dumps([asdict(s) for s in scores], indent=1) if options.json else table(scores))
    return int(any(s.detected != (s.side == "buggy") for s in scores))


def _plain(found: Score) -> dict[str, object]:
    return {name: getattr(found, name) for name in Score.__dataclass_fields__}


def _marks(placed: tuple[bool, ...], explained: tuple[bool, ...]) -> dict[str, object]:
    return {"placed": placed, "explained": explained}


def _line(error: BaseException) -> str:
    return next(iter(str(error).splitlines()), "")


if __name__ == "__main__":
    sys.exit(main())
