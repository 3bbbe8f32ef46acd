"""Causes of a difference: hypotheses that are tried on the recorded data."""
