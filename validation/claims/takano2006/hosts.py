"""Readings of what hosts do with a window larger than the network takes, and the simulators that ran them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from validation.judgements.judges import BySimulator
from validation.judgements.verdicts import Judgement, Verdict
from validation.networks.own_links import KINDS


class Hosts(NamedTuple):
    """A reading of how a host sends a window that exceeds the capacity of the network.

    Attributes
    ----------
    with_dfc, without
        The host with DFC and without: shaped, unshaped or direct (see `dfcmodel.Flow`).
    network
        Whether efficiency is that of all links rather than of the target flow.
    clocks
        Whether the rates of the links differ, as their clocks do.
    """

    with_dfc: str = "shaped"
    without: str = "direct"
    network: bool = False
    clocks: bool = False

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of packet-level runs that the reading means (`validation.networks.own_links.KINDS`)."""
        return tuple(kind for kind, (clocks, _) in KINDS.items() if bool(clocks) is self.clocks)


OWN_LINK = "hosts with a link of their own without DFC"
CLOCKS = f"{OWN_LINK}, clocks within 100 ppm"
READINGS = {
    OWN_LINK: Hosts("shaped", "unshaped"),
    CLOCKS: Hosts("shaped", "unshaped", clocks=True),
    "hosts in node 1's buffer with DFC too": Hosts("direct", "direct"),
    "unshaped hosts with DFC and without": Hosts("unshaped", "unshaped"),
    "efficiency of the network instead of the target's": Hosts(network=True),
}
"""The readings beside the default: eq. (9) shapes the hosts and is part of DFC."""
DFC_ALONE = frozenset({"settles", "dfc_low", "dfc_unstable", "dfc_lossy"})
"""Statements that do not need the runs without DFC."""


def by_simulator(readings: Mapping[str, Judgement], simulators: Mapping[str, tuple[str, ...]]) -> BySimulator:
    """Return the verdicts of packets under the simulators that ran what a statement compares.

    Parameters
    ----------
    readings
        By the name of the reading; "" is the default one.
    simulators
        By the key of the statement: ns-3 has the runs with DFC, ns-2 those without.
    """
    return {
        name: {
            key: dict.fromkeys(_simulators(name, simulators[key]), sides.packets)
            for key, sides in judgement.items()
            if sides.packets is not Verdict.NOT_APPLICABLE
        }
        for name, judgement in readings.items()
    }


NS2, NS3, BOTH = ("ns-2",), ("ns-3",), ("ns-2", "ns-3")


def _simulators(reading: str, needed: tuple[str, ...]) -> tuple[str, ...]:
    """Return the simulators of a statement; hosts with a link of their own are in ns-3 alone."""
    own = reading in READINGS and READINGS[reading].without == "unshaped"
    return NS3 if own else needed
