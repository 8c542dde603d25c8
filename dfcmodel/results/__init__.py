"""What came out: trajectories, their measures and pictures."""

from __future__ import annotations
