"""Comparison with peers: one command, one table of ratios (``make bench``)."""

from __future__ import annotations
