"""A trace: named arrays in execution order, plus what they were recorded on.

Names are paths (``forward/actor/l1/output``, ``grad/critic/l2/kernel``, ``env/17/observation``);
the order of the entries is the order in which the values came into being, so the first difference
between two traces is the place where their subjects part.

A trace is in memory (:class:`Trace`), or in a file that is written entry by entry
(:class:`TraceWriter`) and read entry by entry (:func:`open_trace`).
"""

from parity.trace.atomic import write_atomic
from parity.trace.layout import FORMAT
from parity.trace.memory import Trace
from parity.trace.names import SEPARATOR, flatten, join
from parity.trace.reader import StoredArray, TraceReader, open_arrays, open_trace
from parity.trace.statistics import Statistics, describe
from parity.trace.writer import DETAILS, TraceWriter, write_trace

__all__ = [
    "DETAILS",
    "FORMAT",
    "SEPARATOR",
    "Statistics",
    "StoredArray",
    "Trace",
    "TraceReader",
    "TraceWriter",
    "describe",
    "flatten",
    "join",
    "open_arrays",
    "open_trace",
    "write_atomic",
    "write_trace",
]
