"""From rules to matrices: the rules as plain Python, on regions, on sets of states, and compiled."""

from __future__ import annotations
