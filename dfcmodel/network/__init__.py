"""Networks to simulate: links, queueing disciplines, flows, scenarios and their TOML files."""

from __future__ import annotations
