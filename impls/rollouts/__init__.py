"""A policy and the loop that steps an environment with it."""
