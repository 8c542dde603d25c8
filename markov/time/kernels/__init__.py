"""Loops of the exponential: products of sums of float64, and the jump matrix on a moving set of states."""
