"""Kernels of multigrid, as templates."""
