"""The fluid engine: compilation of scenarios to tables, the kernel, its driver and a reference."""

from __future__ import annotations
