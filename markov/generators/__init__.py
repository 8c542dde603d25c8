"""From rules to states and generators: in plain Python, on arrays, by regions, and for infinitely many states."""

from __future__ import annotations
