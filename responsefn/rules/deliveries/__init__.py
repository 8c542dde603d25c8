"""Rules that see each delivery: rates, marks, losses and what is in flight."""
