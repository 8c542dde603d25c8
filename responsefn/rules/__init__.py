"""TCP's window rules, one algorithm per file."""

from __future__ import annotations
