"""Closed forms as SymPy expressions: derivation, code for NumPy and Numba, compiled laws."""
