"""Reference results of test suites that others wrote, and what this project computes for them."""

from __future__ import annotations
