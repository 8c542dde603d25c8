"""Rules that receive each delivery: rate samples, marks, losses and packets in flight."""
