"""Queue managers called by address, for the compiled copy: imports `dfcmodel.packets.kernel.called_managers`."""

from __future__ import annotations

from dfcmodel.packets.kernel.called_managers import ACCEPT, DROP, MARK, Backlog, ask

__all__ = ["ACCEPT", "DROP", "MARK", "Backlog", "ask"]
