"""hopflow's own comparisons: simulators with each other, and with the window model."""
