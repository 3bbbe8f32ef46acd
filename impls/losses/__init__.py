"""Losses of deterministic actor-critic methods."""
