"""The law of diffusion-type flow control: the text of `dfcmodel.theory.feedback_law` in the compiled copy."""

from __future__ import annotations

from dfcmodel.theory.feedback_law import diffusive_rate, proportional_share

__all__ = ["diffusive_rate", "proportional_share"]
