"""Queue managers that are called by address: `dfcmodel.packets.kernel.called_managers` in the compiled copy."""

from __future__ import annotations

from dfcmodel.packets.kernel.called_managers import ACCEPT, DROP, MARK, Backlog, ask

__all__ = ["ACCEPT", "DROP", "MARK", "Backlog", "ask"]
