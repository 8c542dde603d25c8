"""Networks beside those of papers, and their runs: ns-2, Linux and hopflow's two levels."""
