"""Find the first place where a PyTorch and a TensorFlow implementation part, and say why.

Importing this package imports no framework.
"""

from __future__ import annotations

from parity.api import assert_parity, compare
from parity.debug.check import check
from parity.errors import ParityError, ParityMismatch
from parity.recording.subjects import record
from parity.report import Report
from parity.tolerance import Tolerance
from parity.trace import Trace
from parity.verdict import Verdict

__version__ = "0.1.0"
__all__ = [
    "ParityError",
    "ParityMismatch",
    "Report",
    "Tolerance",
    "Trace",
    "Verdict",
    "assert_parity",
    "check",
    "compare",
    "record",
]
