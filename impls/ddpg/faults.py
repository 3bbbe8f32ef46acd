"""Bugs planted in DDPG, and misuses that it refuses."""

from __future__ import annotations

MUTANTS = ()
ERRORS = ()
