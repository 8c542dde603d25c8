"""Comparison with reference results of external test suites."""

from __future__ import annotations
