"""Parameters of rules from observations: likelihood, its gradient, and estimates with standard errors."""
