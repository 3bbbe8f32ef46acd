"""A paired component; the contract stands in ``spec.py``."""
