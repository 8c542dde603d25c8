"""Analysis of diffusion-type flow control without simulation: law, stability, continuous limits."""

from __future__ import annotations
