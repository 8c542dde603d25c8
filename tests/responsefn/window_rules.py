"""Window rules written as modules of kernels are: counters, rounds, timers, filters; and a loop over single ACKs."""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

from numba import njit

from hopflow.kernels import as_is if False else None
