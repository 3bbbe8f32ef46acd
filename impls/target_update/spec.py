"""Target networks: soft (Polyak) and hard updates over named variables, in place.

State that training does not touch by gradient belongs to a network too. Integer entries (counters)
are copied by both functions: an average of counters counts nothing. Running statistics of a
normalisation layer follow the network that gathers them: name them in ``copied``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from impls.target_update.cases import CHECKS
from impls.target_update.faults import ERRORS, MUTANTS
from parity.component import Component


def polyak_update(
    target: Mapping[str, Any], source: Mapping[str, Any], tau: Any, *, copied: Iterable[str] = ()
) -> None:
    """Move every target variable the share ``tau`` of the way to its source, in place.

        target[name] <- (1 - tau) * target[name] + tau * source[name]
        target[name] <- source[name]            for integer entries and for names in ``copied``

    Source: Lillicrap et al. 2016, "Continuous control with deep reinforcement learning",
    algorithm 1 (theta' <- tau theta + (1 - tau) theta').

    Args:
        target: name -> variable; written.
        source: the same names -> variables of the same shapes and dtypes; never written.
        tau: share of the source, in [0, 1]; Lillicrap et al. use 0.001. A Python number, or a
            scalar tensor where it changes between calls of a compiled step, which would freeze a
            Python number. The range of a tensor is not checked.
        copied: names whose values are copied, whatever ``tau`` is: running statistics.

    Raises:
        ConfigError: tau out of range; the names of target and source differ, there are none, or
            ``copied`` names an entry that does not exist; an entry of both is the same variable.
        ShapeError, DtypeError: an entry differs in shape or dtype. Nothing has been written then.

    Conventions: tau = 1 gives exactly the source, tau = 0 leaves floating entries as they are.
    """
    ...


def hard_update(target: Mapping[str, Any], source: Mapping[str, Any]) -> None:
    """Copy every source variable into its target, in place: ``target[name] <- source[name]``.

    Source: Mnih et al. 2015, "Human-level control through deep reinforcement learning",
    algorithm 1 (every C steps reset Q^ = Q).

    Args:
        target: name -> variable; written.
        source: the same names -> variables of the same shapes and dtypes; never written.

    Raises:
        ConfigError, ShapeError, DtypeError: as :func:`polyak_update`.
    """
    ...


COMPONENT = Component(
    name="target_update",
    contract=(polyak_update, hard_update),
    checks=CHECKS,
    mutants=MUTANTS,
    errors=ERRORS,
)
