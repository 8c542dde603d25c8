"""Streams of random numbers, for the compiled copy: imports `dfcmodel.packets.kernel.random_numbers`."""

from __future__ import annotations

from dfcmodel.packets.kernel.random_numbers import uniform

__all__ = ["uniform"]
