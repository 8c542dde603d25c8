"""Chains on grids: pi Q = 0 by multigrid on boxes of alike cells, without a matrix."""
