"""The main job: every paired component, both frameworks against each other and the reference.

One test per component, check, case, dtype and mode, generated from the specs.
"""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest

from impls import COMPONENTS, load_component
from parity.recorder import ParityRecorder
from parity.recording.suite import Exchange
from parity.suite import SuiteCase, suite_cases
from tests.support.ledger import LEDGER, complaint, read_ledger

pytestmark = pytest.mark.parity

CASES = suite_cases({f"impls.{name}": load_component(name) for name in COMPONENTS})
ACCEPTED = read_ledger(LEDGER)


@pytest.fixture(autouse=True)
def fresh_compiler(case: SuiteCase) -> Iterator[None]:
    """torch stops compiling a function after a few variants: each check gets a fresh count."""
    yield
    dynamo = sys.modules.get("torch._dynamo")
    if case.mode != "eager" and dynamo is not None:
        dynamo.reset()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_parity(case: SuiteCase, parity: ParityRecorder, request: pytest.FixtureRequest) -> None:
    exchange = exchange_of(request.config)
    parity.require(*exchange.needs(case))
    if case.mode == "compiled" and not can_compile():
        pytest.skip("torch.compile needs a C++ compiler and Python's headers")
    report = parity.check(exchange.run(case))
    if exchange.record is not None:
        return  # one side and the reference: the ledger is about all three
    if why := complaint(report, ACCEPTED):
        parity.fail(f"{report}\n{why}")


def exchange_of(config: pytest.Config) -> Exchange:
    """Both sides in this process; or one, with recordings of the other (``--parity-record``)."""
    folder, against = config.getoption("--parity-record"), config.getoption("--parity-against")
    return Exchange(
        record=Path(folder) if folder else None,
        side=config.getoption("--parity-side"),
        against=Path(against) if against else None,
    )


def can_compile() -> bool:
    """What torch.compile needs from the system, since pip does not bring it."""
    compilers = (os.environ.get("CXX", ""), "g++", "clang++")
    headers = Path(sysconfig.get_path("include"), "Python.h")
    return headers.is_file() and any(shutil.which(name) for name in compilers if name)
