"""How to solve pi Q = 0 on an irreducible chain, and the choice of a method."""
