"""Results of simulations: recorded arrays, trajectories, measures and plots."""

from __future__ import annotations
