"""Chains whose levels repeat, also without end."""
