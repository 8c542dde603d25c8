"""Rules that run on boxes with infinitely many states: polynomials in place of whole numbers."""
