"""A chain whose passage time has an Erlang distribution."""

from __future__ import annotations

import numpy as np


def erlang(stages: int, rate: float) -> np.ndarray:
    return np.diag([-rate] * stages + [0.0]) + np.diag([rate] * stages, 1)
