"""Buffers that wait for each other: cycles, deadlock, routings without it."""
