"""From data: rules fitted to measured rates, and readers of the statistics of stacks and tools."""

from __future__ import annotations
