"""Many computations: grids of parameters, executors, processes, progress, stores."""
