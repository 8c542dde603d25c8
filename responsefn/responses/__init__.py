"""Rates and windows as functions of the loss event rate, and their inverses."""

from __future__ import annotations
