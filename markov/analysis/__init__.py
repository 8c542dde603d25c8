"""What is computed from chains and answers: optima, sensitivities, lumping, sampling, comparisons."""
