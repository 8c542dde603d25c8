"""Rules compiled with Numba."""
