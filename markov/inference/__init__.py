"""Parameters of rules from observations: likelihood with its gradient, and estimates with standard errors."""
