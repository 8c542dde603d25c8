"""Chains on grids of cells: pi Q = 0 by multigrid without a matrix."""
