"""What the numerical parts share: compilation, cost, memory, progress, interruption, extended precision."""
