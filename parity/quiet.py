"""Import the frameworks without the notes that TensorFlow's native code prints about the machine.

They come before any logging is set up, so no setting silences them, and they would stand above
every report. Only lines of that form are dropped; whatever else is written is passed on.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

_NOTE = re.compile(
    rb"^([IWE]\d{4} \d\d:\d\d:\d\d|WARNING: All log messages before absl"
    rb"|To enable the following instructions:)"
)


def import_frameworks() -> None:
    """torch before TensorFlow (the other order has hung), and a first operation of TensorFlow."""
    if find_spec("torch") is not None:
        import torch  # noqa: F401
    import_tensorflow()


def import_tensorflow() -> None:
    """TensorFlow alone, and a first operation of it; nothing where it is not installed."""
    if find_spec("tensorflow") is None or "tensorflow" in sys.modules:
        return
    with dropping(_NOTE):
        import tensorflow as tf

        tf.constant(0.0)  # looks for devices, and says so


@contextmanager
def dropping(note: re.Pattern[bytes]) -> Iterator[None]:
    """Hold back what is written to the process's stderr; pass on the lines that are no notes."""
    try:
        descriptor = sys.stderr.fileno()
    except (AttributeError, OSError, ValueError):  # replaced by an object without a descriptor
        yield
        return
    sys.stderr.flush()
    kept = os.dup(descriptor)
    with tempfile.TemporaryFile() as held:
        os.dup2(held.fileno(), descriptor)
        try:
            yield
        finally:
            sys.stderr.flush()
            os.dup2(kept, descriptor)
            os.close(kept)
            held.seek(0)
            for line in held:
                if not note.match(line):
                    os.write(descriptor, line)
