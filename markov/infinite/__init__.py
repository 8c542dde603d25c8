"""Chains with infinitely many states: Lyapunov functions verified in all states, and answers with error bounds."""
