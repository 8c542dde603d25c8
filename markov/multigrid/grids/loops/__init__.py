"""The loops over the states of grids, as templates of kernels, and how they are called."""
