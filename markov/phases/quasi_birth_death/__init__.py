"""Chains whose levels repeat, also infinitely many of them."""
