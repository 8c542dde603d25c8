"""The law of diffusion-type flow control, for the compiled copy: imports `dfcmodel.theory.feedback_law`."""

from __future__ import annotations

from dfcmodel.theory.feedback_law import diffusive_rate, proportional_share

__all__ = ["diffusive_rate", "proportional_share"]
