"""Sweeps over grids of parameter values, with executors and stores."""
