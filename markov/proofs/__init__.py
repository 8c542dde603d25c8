"""Bounds on the error of a distribution and of the means of functions of the state."""
