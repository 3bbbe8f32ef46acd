"""One report for each kind of message, and the texts that they gave when a person read them.

``python -m tests.support.messages`` writes the texts anew, to ``tests/unit/data/messages/``. Read
the diff: it is what users will see.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from parity.api import compare
from parity.message import render
from parity.report import Problem, Report, build_report, judge
from parity.trace import Trace, describe
from parity.verdict import Verdict
from tests.support.pages import HOSTILE

FOLDER = Path(__file__).parents[1] / "unit" / "data" / "messages"
LONG = "forward/encoder/block_11/attention/self/query_projection/output"
Q = np.linspace(-1, 1, 13, dtype=np.float32)
WIDE = np.linspace(-1, 1, 13)
ODD = np.where(np.arange(13) == 4, np.float32(np.nan), Q)


def apart(**subject: Any) -> Report:
    """Two entries, of which the second differs."""
    torch = {"output/q": Q, "loss": np.float32(0.25)}
    made = compare(torch=torch, tf={"output/q": Q * 1, "loss": np.float32(0.5)})
    return made.with_(subject=subject)


def problem(kind: str, name: str = LONG, /, **details: Any) -> Callable[[], Report]:
    """A report whose only finding is not a number."""

    def make() -> Report:
        made = compare(torch={"output/q": Q}, tf={"output/q": Q.copy()})
        return judge(made.with_(problems=(Problem(kind, name, details),)))

    return make


def rows(count: int, first: int) -> list[dict[str, Any]]:
    """A table of layers, of which one is at fault."""
    return [
        {
            "torch": f"encoder.blocks.{i}.attention.query",
            "tf": f"encoder/block_{i}/attention/query",
            "kind": "dense",
            "propagated": 0.0 if i < first else 0.0031,
            "local": float("inf") if i == first else None if i == first + 1 else 1.5e-16,
            "verdict": {first: "differs", first + 1: "input", first + 2: "float32"}.get(i, "agree"),
            "where": {"torch": "port.py:11: x = self.norm(x)", "tf": "port.py:31: x = norm(x)"},
        }
        for i in range(count)
    ]


CAUSE = {
    "cause": "norm-epsilon",
    "text": "norm: epsilon is 1e-05 in torch and 0.001 in Keras",
    "fix": "keras.layers.LayerNormalization(epsilon=1e-05)",
    "before": 0.65,
    "after": 6.7e-16,
    "docs": "docs/porting.md#norm-epsilon",
    "alternatives": [{"cause": "batch-norm-momentum"}, "layout"],
}
TRIED = [
    {
        "cause": "norm-epsilon",
        "place": "encoder.blocks.1.attention.norm",
        "what": "epsilon=1e-05",
        "trials": 1,
        "before": 0.65,
        "after": 6.7e-16,
        "removes": True,
    },
    {
        "cause": "training-mode",
        "place": "encoder.blocks.1.attention.norm",
        "what": "",
        "trials": 2,
        "before": 0.65,
        "after": 0.61,
        "removes": False,
    },
    {
        "cause": "normalisation-axis",
        "place": "\x1b[31mport.py:3",
        "what": "axis=0",
        "trials": 112,
        "before": float("inf"),
        "after": None,
        "removes": False,
    },
]
SUITE = {"component": "td3", "check": "chain.target", "case": "one row", "dtype": "float32",
         "mode": "eager"}  # fmt: skip


def _statistics() -> Report:
    """Both sides hold statistics only."""

    class Kept(Trace):
        def entry(self, name: str) -> Any:
            return describe(self[name])

    long = np.linspace(-1, 1, 5000, dtype=np.float32)
    spoilt = np.where(np.arange(5000) == 1, np.float32(40), long)
    return build_report({"torch": Kept({"q": long}), "tf": Kept({"q": spoilt})})


def _evidence(verdict: Verdict) -> Report:
    base, wide = apart(check="function", dtype="float32"), compare(torch=WIDE, tf=WIDE + 1e-14)
    return base.with_(verdict=verdict, evidence=wide)


MESSAGES: Mapping[str, Callable[[], Report]] = {
    "verdict-agree": lambda: compare(torch=Q, tf=Q.copy(), reference=WIDE),
    "verdict-diverge": lambda: apart(check="function").with_(reproduce="parity check a:x b:y"),
    "verdict-rounding": lambda: _evidence(Verdict.ROUNDING),
    "verdict-latent": lambda: _evidence(Verdict.LATENT),
    "verdict-chaos": lambda: _evidence(Verdict.CHAOS),
    "verdict-invalid": lambda: compare(torch=Q, tf=Q),
    "difference-values-reference": lambda: compare(
        torch={LONG: Q}, tf={LONG: Q + np.float32(1e-3)}, reference={LONG: WIDE}
    ).with_(subject={**SUITE, "source": {"torch": "impls/td3/torch_impl.py:120",
                                         "tf": "impls/td3/tf_impl.py:131"}}),
    "difference-both-off": lambda: compare(
        torch={"q": Q - np.float32(0.5)}, tf={"q": Q + np.float32(1e-3)}, reference={"q": WIDE}
    ),
    "difference-only-reference": lambda: compare(torch=Q, tf=Q.copy(), reference=WIDE + 1e-3),
    "difference-missing": lambda: compare(torch={"a": Q, LONG: Q}, tf={"a": Q.copy()}),
    "difference-shape": lambda: compare(torch={LONG: Q.reshape(13, 1)}, tf={LONG: Q.copy()}),
    "difference-dtype": lambda: compare(torch={"n": Q}, tf={"n": WIDE}),
    "difference-non-finite": lambda: compare(torch={"q": ODD}, tf={"q": Q}),
    "difference-statistics": _statistics,
    "difference-many": lambda: compare(
        torch={f"{LONG}/{i}": Q for i in range(40)}, tf={f"{LONG}/{i}": Q + 1 for i in range(40)}
    ),
    "layers": lambda: apart(table=rows(30, 17), only_torch=["dropout"], only_tf=["dense/tanh"]),
    "layers-hostile": lambda: apart(
        table=[{**row, "torch": name, "tf": name, "where": {"torch": f"port.py:1: {name}"}}
               for row, name in zip(rows(len(HOSTILE), 0), HOSTILE, strict=True)],
        only_torch=HOSTILE, only_tf=HOSTILE,
    ),
    "notes": lambda: apart(
        check="module",
        float32_inside=[{"place": "norm", "error": 1e-8}],
        unexplained=["head"],
        no_float64={"tf": "tf: the layer refuses float64"},
        networks={"actor": "agrees in every layer"},
        not_remade=True,
        config=[{"layer": "norm", "name": "epsilon", "torch": 1e-5, "tf": 1e-3},
                {"layer": "drop", "name": "rate", "torch": 0.1, "tf": 0.5, "training": True}],
    ),
    "cause": lambda: apart().with_(causes=(CAUSE, {"cause": "unnamed"})),
    "name-long": lambda: compare(torch={"grad/" + "x" * 200: Q}, tf={"grad/" + "x" * 200: Q + 1}),
    "names-hostile": lambda: compare(
        torch=dict.fromkeys(HOSTILE, Q), tf=dict.fromkeys(HOSTILE, Q + 1)
    ),
    "problem-nothing-compared": lambda: compare(torch={}, tf={}),
    "problem-empty": lambda: compare(torch={LONG: Q[:0]}, tf={LONG: Q[:0].copy()}),
    "problem-all-zero": lambda: compare(torch={LONG: Q * 0}, tf={LONG: Q * 0}),
    "problem-no-finite": lambda: compare(torch={LONG: ODD[4:5]}, tf={LONG: ODD[4:5].copy()}),
    "problem-same-object": lambda: compare(torch=Q, tf=Q),
    "problem-unmatched": lambda: compare(
        torch={"grad/l1/kernel": Q, "b": Q}, tf={"grad/l1/kernels": Q + 0, "b": Q + 0}
    ),
    "problem-unreadable": problem("unreadable", side="tf", why="checksum of block 3 is wrong"),
    "problem-statistics": problem("statistics", entries=12, values=1_234_567),
    "problem-broadcast": problem("broadcast", side="tf", operation="SquaredDifference",
                                 shapes=[[13, 1], [13]], result=[13, 13], where="port.py:26"),
    "problem-gradient-none": problem("gradient", input="q", side="tf", found="none"),
    "problem-gradient-some": problem("gradient", input="q_target", side="torch", found="some"),
    "problem-order": problem("order", torch=["norm", "relu", "out"], tf=["relu", "norm", "out"]),
    "problem-layer-error": problem("layer-error", side="tf", error="expected axis -1 to be 3"),
    "problem-retrace-more": problem("retrace", "update", side="tf", traces=7, declared=2),
    "problem-retrace-fewer": problem("retrace", "update", side="torch", traces=1, declared=2),
    "problem-network": problem("network", "critic", verdict="diverge", place=LONG),
    "problem-environment-stopped": problem(
        "environment-stopped", "tf", why="at step 12: ValueError: action is out of bounds"
    ),
    "problem-info-missing": problem("info-missing", "TimeLimit.truncated", has="torch"),
    "problem-parted": problem("parted", who="environments", step=17, field="reward"),
    "problem-weight-missing": problem("weight-missing", "norm/beta", shape=[7], has="torch",
                                      lacks="tf", layer="layer_normalization", name="beta"),
    "problem-weight-shape": problem("weight-shape", torch=[7, 3], tf_name="dense/kernel",
                                    tf=[7, 5]),
    "problem-layer-missing": problem("layer-missing", "head", has="torch", kind="dense",
                                     weights={"kernel": [7, 3], "bias": [3]}),
    "problem-parameter-missing": problem("parameter-missing", "log_std", has="tf", shape=[2]),
    "problem-unknown": problem("of-a-later-version", count=3),
}  # fmt: skip


def texts() -> dict[str, str]:
    """Name -> text at the verbosity that says most of it."""
    found = {name: render(make()) for name, make in MESSAGES.items()}
    found["tier-v"] = render(MESSAGES["difference-many"](), verbosity=1)
    found["tier-vv"] = render(
        apart(layers=rows(3, 1), only_torch=["dropout"], check="module", tried=TRIED), verbosity=2
    )
    return found


def write() -> None:
    """Replace the kept texts."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for old in FOLDER.glob("*.txt"):
        old.unlink()
    for name, text in texts().items():
        (FOLDER / f"{name}.txt").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    write()
