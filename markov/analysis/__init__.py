"""Analyses of chains and answers: optima, gradients, lumping, sampling, relaxation, comparisons, pause thresholds."""
