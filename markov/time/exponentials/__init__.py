"""exp(Q t) of few states with a proved relative error of every entry, at any stiffness."""
