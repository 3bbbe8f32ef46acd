"""``parity check``: two sides that a user wrote, brought face to face."""
