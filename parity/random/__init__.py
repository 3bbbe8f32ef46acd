"""Counter-based randomness: the same bits in NumPy, torch and TensorFlow, compiled or not.

Importing this package imports no framework; ``Stream.torch()`` and ``Stream.tf()`` do.
"""

from __future__ import annotations

from parity.random.numpy_random import Stream

__all__ = ["Stream"]
