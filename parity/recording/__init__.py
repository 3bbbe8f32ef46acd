"""Recordings of one side, made where only its framework is installed, and checked elsewhere.

Importing this package imports no framework.
"""

from __future__ import annotations
