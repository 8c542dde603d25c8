"""Chains with infinitely many states: Lyapunov functions that are verified for all of them, and bounded answers."""
