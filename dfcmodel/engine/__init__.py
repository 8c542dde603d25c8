"""How a scenario is run: plans, tables, the compiled loop and its plain twin."""

from __future__ import annotations
