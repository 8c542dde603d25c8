"""From data: rules fitted to measured rates, and readers of what stacks and tools report."""

from __future__ import annotations
