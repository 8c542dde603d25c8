"""Diffusion-type flow control itself: claims D01, D03, D18 and D20 of takano2006."""

from __future__ import annotations

from validation.claims.diffusion import control_delay, loaded_node, shares, unequal_delays

__all__ = ["control_delay", "loaded_node", "shares", "unequal_delays"]
