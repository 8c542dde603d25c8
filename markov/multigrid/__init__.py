"""Multigrid: hierarchies of coarse chains, on assembled matrices and on grids without one."""
