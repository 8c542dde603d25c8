"""Fluid and packets on the same scenario: how far apart they are, why, and which one to use."""
