"""How long the handshakes of flows take where nothing waits: the levels without packets start that much later."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dfcmodel.network.frame_sizes import HEADER

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.network.flows import Flow
    from dfcmodel.network.networks import Scenario

__all__ = ["handshake_times"]


def handshake_times(scenario: Scenario) -> NDArray[np.float64]:
    """Return the time from the start of each flow to its first data where nothing waits, s, (F,).

    The round trip of a SYN and a SYN-ACK: propagation and transmission times, those of the way back as of the way there.
    0 for flows without a handshake.

    Examples
    --------
    >>> from dfcmodel import Flow, Scenario, chain
    >>> from responsefn import NewReno
    >>> links = chain(2, rate=1000.0, delay=0.01, buffer=20)
    >>> one = Scenario("one", links, [Flow("one", (1, 2), NewReno(), handshake=True)], duration=1.0)
    >>> handshake_times(one).round(5).tolist()  # 1500 bytes take 1 ms
    [0.02005]
    """
    return np.array(
        [_round_trip(scenario, flow) if flow.handshake else 0.0 for flow in scenario.flows]
    )


def _round_trip(scenario: Scenario, flow: Flow) -> float:
    """Return the round trip of a SYN and a SYN-ACK of a flow, s."""
    links = list(scenario.path(flow))
    if not scenario.enters_at_once(flow):
        links.append(links[0])  # the access link is like the first one
    transmission = HEADER / scenario.packet_size * sum(1.0 / link.rate for link in links)
    return scenario.base_rtt(flow) + 2.0 * transmission
