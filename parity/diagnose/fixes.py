"""What to change, for the causes where the facts say it better than the catalogue."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from parity.diagnose.sentences import Say

FIXES: Mapping[str, Say] = {
    "gradient-clipping": lambda f, e: (
        f"global_clipnorm={f['bound']:g}, or tf.clip_by_global_norm"
        if "global" in f["torch"] and f["bound"]
        else ""
    ),
    "stop-gradient-missing": lambda f, e: (
        f"tf.stop_gradient({f.get('input', e.strip('`'))})" if "input" in f or "`" in e else ""
    ),
    "loss-kind": lambda f, e: f.get("keras", ""),
    "silent-broadcast": lambda f, e: "tf.squeeze(..., -1)",
    "reduction-axis": lambda f, e: f"axis={_axis(f['wanted'])}" if "wanted" in f else "",
    "kink-gradient": lambda f, e: "tf.nn.relu" if f.get("wanted") == "relu" else "",
    "modulo": lambda f, e: (
        "tf.truncatemod" if "truncated" in str(f.get("wanted")) else "tf.math.floormod"
    ),
    "reshape-for-transpose": lambda f, e: f"transpose{tuple(f['order'])}",
    "log-guard": lambda f, e: f"use {f['wanted']}" if f.get("wanted") not in (None, "none") else "",
    "mask-missing": lambda f, e: (
        "tf.nn.softmax(tf.where(mask, scores, -inf)): a product behind the softmax leaves rows "
        "that do not sum to one"
        if f.get("form") == "softmax"
        else ""
    ),
    "other-operand": lambda f, e: (
        f"tf.gather(x, {f['rows']}, axis=1, batch_dims=1)" if "rows" in f else ""
    ),
    "integer-overflow": lambda f, e: f"tf.cast(x, tf.{f['wanted']}) first",
}


def _axis(axes: Any) -> str:
    return str(axes[0]) if isinstance(axes, tuple) and len(axes) == 1 else str(axes)
