"""Streams of random numbers: the text of `dfcmodel.packets.kernel.random_numbers` in the compiled copy."""

from __future__ import annotations

from dfcmodel.packets.kernel.random_numbers import uniform

__all__ = ["uniform"]
