"""The catalogue's entries with a closed form, and where their numbers are compared."""

from __future__ import annotations

import numpy as np

from responsefn import AIMD, CUBIC, TFRC, catalogue

CLOSED = [
    entry
    for entry in catalogue().entries
    if entry.uses_closed_form() and getattr(entry, "capacity", "ignored") != "needed"
]
SMOOTH = [*CLOSED, AIMD(0.2, 0.125), CUBIC(friendly=0), TFRC(2, 0.3)]
"""Every entry of the catalogue with a closed form: each has a twin, and nothing else has."""
P = np.geomspace(1e-10, 0.9, 301)
RTT = 0.07
