"""The catalogue of causes: what each is called, how it shows, what to do about it.

``docs/porting.md`` has one section for each; ``anchor`` is its heading there. Ids are stable: they
stand in reports, in JSON and in links.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from parity.diagnose.catalogue import (
    environments,
    gradients,
    layers,
    losses,
    numerics,
    optimizers,
    returns,
)

PAGE = "docs/porting.md"


@dataclass(frozen=True)
class CauseInfo:
    """One known cause.

    Attributes:
        id: stable name.
        title: one line.
        symptom: how it shows.
        fix: what to do, in general; reports say it in the terms of the pair at hand.
        subject: ``loss``, ``gradient``, ``returns``, ``target``, ``graph``, ``random``,
            ``numerics``, ``dtype``, ``optimizer``, ``initialisation``, ``layout``, ``layer``,
            ``environment`` or ``general``.
    """

    id: str
    title: str
    symptom: str
    fix: str
    subject: str

    @property
    def anchor(self) -> str:
        return self.id

    @property
    def link(self) -> str:
        return f"{PAGE}#{self.anchor}"


_ROWS = (
    *losses.ROWS,
    *gradients.ROWS,
    *returns.ROWS,
    *numerics.ROWS,
    *optimizers.ROWS,
    *layers.ROWS,
    *environments.ROWS,
)

CAUSES: Mapping[str, CauseInfo] = {
    id_: CauseInfo(id_, title, symptom, fix, subject) for id_, subject, title, symptom, fix in _ROWS
}
