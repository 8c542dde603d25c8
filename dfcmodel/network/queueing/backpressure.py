"""Backpressure flow control: queues of flows that stop single flows one hop upstream."""

from __future__ import annotations

from dataclasses import dataclass

from dfcmodel.network.queueing.disciplines import PACKETS_ALONE, Discipline
from hopflow.checks import one_number
from hopflow.units import WithUnit, quantities

__all__ = ["BFC"]


@quantities(signalling="time")
@dataclass(frozen=True)
class BFC(Discipline):
    """Backpressure flow control (Goyal et al. 2022): a queue per flow pauses its flow at the node before; times in s.

    Queues share the link by deficit round robin. A queue that exceeds ``threshold`` one-hop products of bandwidth and
    delay divided by the number of active queues (with packets that are not paused) requests a pause of its flow from
    the node before. At or below this limit it requests a resume. The delay of a hop is the round trip of the link
    before, with ``signalling`` and the transmission of a packet. A paused queue therefore holds at most the threshold
    and the packets that arrive until the pause takes effect: two such products, if the link before is as fast, and a
    packet. As in the paper's ideal there are as many queues as flows; hashing flows to fewer queues is not modelled.
    ACKs have separate queues and are not paused. All links that feed a link with BFC have BFC too, or are interfaces or
    access links of hosts. At packet level.

    Parameters
    ----------
    threshold
        Factor of the threshold, above 0; 1 is the paper's.
    signalling
        Delay of messages besides propagation, s.

    Raises
    ------
    ValueError
        For a threshold that is not positive, and a negative delay of signals.

    Examples
    --------
    >>> from dfcmodel import BFC, Flow, Link, Packets, Scenario, simulate
    >>> from responsefn import FixedRate
    >>> links = [Link(*ends, 1e6, 1e-5, 1000, BFC()) for ends in ("as", "bs", "st")]
    >>> flows = [Flow(h, (h, "s", "t"), FixedRate(), size=500, host="nic") for h in "ab"]
    >>> run = simulate(Scenario("incast", links, flows, duration=0.01), Packets(seed=1))
    >>> float(run.lost.sum()), bool(run.peak_queue.max() < 2 * 2 * 21)
    (0.0, True)
    """

    levels = PACKETS_ALONE
    pauses = "flow"
    queue_per = "flow"

    threshold: float = 1.0
    signalling: WithUnit = 0.0

    def __post_init__(self) -> None:
        one_number("threshold", self.threshold, above=0.0, at_most=1e6)
        one_number("signalling", self.signalling, at_least=0.0, at_most=10.0, hint="in s")
