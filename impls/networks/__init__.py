"""Deterministic actor, twin critic and multi-layer perceptron."""
