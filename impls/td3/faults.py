"""Bugs planted in TD3, and misuses that it refuses."""

from __future__ import annotations

MUTANTS = ()
ERRORS = ()
