"""What the packet level cannot run, refused before any work starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dfcmodel.network.disciplines import FIFO
from responsefn import NewReno, Reno, Tahoe, WindowRule

if TYPE_CHECKING:
    from dfcmodel.network.networks import Scenario
    from dfcmodel.packets.methods import Packets

__all__ = ["check_scenario"]


def check_scenario(scenario: Scenario, method: Packets) -> None:
    """Raise ValueError for what the packet level would have to simulate as something else."""
    for link in scenario.links:
        kind = type(link.discipline)
        if kind is not FIFO:
            msg = f"the packet level runs FIFO() so far; for {kind.__name__} use method=Fluid()"
            raise ValueError(f"discipline of link {link.name}: {msg}")
        if not link.shared:
            raise ValueError(
                f"shared of link {link.name} = False: a FIFO of packets has one buffer for all; "
                "use shared=True, or method=Fluid()"
            )
    for flow in scenario.flows:
        if flow.host == "shaped":
            msg = "hosts are shaped by the rates that DFC tells; use method=Fluid()"
            raise ValueError(f"host of flow {flow.name!r} = 'shaped': {msg}")
        rule = flow.source
        if method.is_ns2 and isinstance(rule, WindowRule) and type(rule) not in (Tahoe, Reno, NewReno):
            msg = 'ns-2 has Tahoe(), Reno() and NewReno(); use convention="standard"'
            raise ValueError(f"source of flow {flow.name!r} = {rule!r}: {msg}")
