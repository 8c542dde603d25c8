"""The cases of malhotra2005: IEEE 802.3x pause, with Poisson arrivals and with TCP (ns-3)."""

from __future__ import annotations
