"""Metrics that compare rules."""

from __future__ import annotations
