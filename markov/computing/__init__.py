"""Shared numerical infrastructure: compilation, cost, memory, progress, interruption, precision."""
