"""Which packages are here, and which must be: a missing one is a loud skip or a failure.

``PARITY_REQUIRE=torch,tf,gym,gymnasium`` in the environment names the packages without which a run
must not be green. Nothing here imports a package to look for it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from importlib.util import find_spec

from parity.errors import InvalidInput

VARIABLE = "PARITY_REQUIRE"

MODULES: Mapping[str, str] = {
    "torch": "torch",
    "tf": "tensorflow",
    "keras": "keras",
    "gymnasium": "gymnasium",
    "gym": "gym",
    "mujoco": "mujoco",
    "box2d": "Box2D",
    "safetensors": "safetensors",
}
"""Name in ``PARITY_REQUIRE`` -> module to import."""

GPU = "gpu"
"""Not a package: ``PARITY_REQUIRE=gpu`` makes the GPU stage fail where there is no GPU."""
CHROMIUM = "chromium"
"""Not a package either, but a browser and its driver, which the tests of the pages look for."""
_ELSEWHERE = (GPU, CHROMIUM)
"""What the tests that need it look for themselves."""
_ALIASES = {"tensorflow": "tf"}


def parse_required(text: str) -> tuple[str, ...]:
    """The canonical names in a ``PARITY_REQUIRE`` value; empty for an empty one.

    Raises:
        InvalidInput: a name is not one of :data:`MODULES`; a misspelt requirement must not be an
            unmet one.
    """
    names = []
    for word in text.replace(",", " ").split():
        name = _canonical(word)
        if name not in MODULES and name not in _ELSEWHERE:
            close = get_close_matches(name, [*MODULES, *_ALIASES, *_ELSEWHERE], n=1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            known = ", ".join([*MODULES, *_ELSEWHERE])
            raise InvalidInput(f"{VARIABLE}: unknown package {word!r}{hint} (known: {known})")
        if name not in names:
            names.append(name)
    return tuple(names)


def required() -> tuple[str, ...]:
    """What the environment's ``PARITY_REQUIRE`` names."""
    return parse_required(os.environ.get(VARIABLE, ""))


def missing(names: Iterable[str]) -> tuple[str, ...]:
    """Those of the packages that are not installed, by their names in ``PARITY_REQUIRE``.

    Packages that it does not know are looked up as modules of that name. A GPU and a browser are no
    packages: the tests that need one look for it.
    """
    return tuple(n for n in map(_canonical, names) if n not in _ELSEWHERE and not _installed(n))


def module_name(name: str) -> str:
    """The module behind a name: ``tf`` is ``tensorflow``."""
    return MODULES.get(_canonical(name), name)


def _canonical(name: str) -> str:
    lowered = name.lower()
    known = _ALIASES.get(lowered, lowered)
    return known if known in MODULES or known in _ELSEWHERE else name


def _installed(name: str) -> bool:
    try:
        return find_spec(module_name(name)) is not None
    except (ImportError, ValueError):  # blocked, or a stub without a spec in sys.modules
        return False
