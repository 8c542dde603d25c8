"""What lies between the fluid and packets in the claims where they differ: `dfcmodel.explain`, bundled."""
