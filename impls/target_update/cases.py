"""Variables and updates that target networks are checked on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from parity.checks.update import UpdateCheck

Arrays = dict[str, np.ndarray]
STATISTIC = "actor/norm/mean"


def _networks(count: int, offset: float = 0.0) -> Callable[[Any], tuple[Arrays, list[Arrays]]]:
    """First target values and the sources of ``count`` updates, counters included."""
    shapes = {
        "actor/l1/kernel": (3, 11),
        "actor/l1/bias": (11,),
        STATISTIC: (11,),
        "actor/l2/kernel": (11, 2),
        "critic/square/kernel": (5, 5),
        "critic/scale": (),
    }

    def inputs(rng: np.random.Generator) -> tuple[Arrays, list[Arrays]]:
        def network(step: int) -> Arrays:
            arrays = {name: offset + rng.normal(size=shape) for name, shape in shapes.items()}
            return {**arrays, "actor/norm/count": np.asarray(7 + 3 * step)}

        return network(0), [network(step) for step in range(1, count + 1)]

    return inputs


CHECKS = (
    UpdateCheck(
        name="polyak_update",
        case="tau-follows-a-tensor",
        inputs=_networks(4),
        scalars={"tau": (0.005, 0.5, 0.25, 1.0)},
        options={"copied": (STATISTIC,)},
        modes=("eager", "xla"),
    ),
    UpdateCheck(
        name="polyak_update",
        case="compiled",
        inputs=_networks(3),
        scalars={"tau": (0.005, 0.5, 1.0)},
        options={"copied": (STATISTIC,)},
        modes=("compiled",),
        dtypes=("float64",),  # compiling takes seconds; the other modes run in both dtypes
    ),
    UpdateCheck(
        name="polyak_update",
        case="tau-is-a-number",
        inputs=_networks(3),
        options={"tau": 0.005, "copied": (STATISTIC,)},
        modes=("eager", "xla"),
    ),
    UpdateCheck(
        name="polyak_update", case="twenty-updates", inputs=_networks(20), options={"tau": 0.05}
    ),
    UpdateCheck(
        name="polyak_update",
        case="large-values",
        inputs=_networks(3, offset=1e4),
        options={"tau": 0.001},
    ),
    UpdateCheck(
        name="polyak_update",
        case="tau-zero",
        inputs=_networks(2),
        options={"tau": 0},
        expect_zero=("change/*",),
    ),
    UpdateCheck(name="polyak_update", case="tau-one", inputs=_networks(2), options={"tau": 1}),
    UpdateCheck(
        name="hard_update",
        case="everything",
        inputs=_networks(3),
        modes=("eager", "xla"),
    ),
)
