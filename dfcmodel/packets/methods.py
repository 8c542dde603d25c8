"""Options of the packet level: conventions, loss recovery and random numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from dfcmodel.network.endpoints.native_rules import NativeRule
from dfcmodel.network.endpoints.stacks import STACKS
from dfcmodel.network.links import among
from dfcmodel.packets.recoveries import RECOVERIES, LossRecovery
from dfcmodel.packets.recoveries.base import check_recovery
from dfcmodel.packets.repairs import REPAIRS, SelectiveRepair
from hopflow.checks import (
    check_limit,
    choice,
    flag,
    format_value,
    instance,
    is_endless,
    number,
    one_number,
    plain_number,
    refuse_options,
    seed_number,
)
from hopflow.results import Described
from hopflow.tcp_constants import MAX_ACK_DELAY
from hopflow.units import WithUnit, WithUnits, quantities
from responsefn import DeliveryRule, RateRule

if TYPE_CHECKING:
    import numpy as np

    from dfcmodel.network.endpoints.sources import Source
    from dfcmodel.network.networks import Scenario

__all__ = ["Packets", "Times", "failures_of", "recovery_named"]

Recovery: TypeAlias = str | LossRecovery | SelectiveRepair
"""What may be given as a recovery: of senders with a window, or at the rate of a rule."""

CONVENTIONS = ("standard", "ns2")
SPRAYINGS = ("turns", "random", "least queue")
OWN_BY_DELIVERIES = ("prr", "rack", "linux-6.12")
"""Recoveries in whose place rules of deliveries have their own, with ``"sack"``."""


@quantities(
    phases="time",
    ack_delay="time",
    count_smoothing="time",
    retry_delay="time",
    failures="time",
    reroute_delay="time",
    max_cpu_time="time",
    frame_errors="share",
    loss="share",
)
@refuse_options(
    backend="was removed; packets run on the compiled engine",
    packet_jitter="is a parameter of simulate, sweep and ensemble: simulate(scenario, Packets(...), "
    "packet_jitter='1pkt')",
    jitter="is a parameter of simulate, sweep and ensemble: simulate(scenario, Packets(...), jitter='10ms')",
)
@dataclass(frozen=True)
class Packets(Described):
    """Packet-level simulation: every packet and ACK, with sequence numbers and timers.

    ACKs of 40 bytes, of rate rules of 64, return over the reverse of the flow's path: over the scenario's reverse link
    if there is one, otherwise over a mirror of the forward link with the same rate, delay and buffer. They are queued
    there like packets.

    Parameters
    ----------
    seed
        Seed of all random numbers. With ``convention="ns2"`` it is the argument of ``$defaultRNG
        seed``; None is a script without that command.
    convention
        ``"standard"``: timers by RFC 6298, and ``buffer`` packets in the queue besides the one in
        transmission. ``"ns2"``: the conventions of ns-2.35: a connection begins with a packet of 40
        bytes, timers count ticks of 10 ms with a phase per agent, drop-tail queues hold ``buffer -
        1`` packets, or bytes of a `ByteBuffer`, besides the one in transmission, thresholds are whole packets.
    recovery
        Loss recovery of the senders, for all flows or as a mapping from flow names; None is the default of each window
        rule. ``"tahoe"``, ``"reno"`` (RFC 5681), ``"newreno"`` (RFC 6582), ``"sack"`` (as ns-2's Sack1: the window is
        cut at once, and nothing is sent until less than it is in flight), or ``"prr"``: SACK with proportional rate
        reduction and its slow-start reduction bound (RFC 6937), as Linux sends since 3.2; of ns-3 see the documentation
        of packets. ``"rack"``: RACK-TLP with that reduction (RFC 8985): losses are found by time, and probes repair
        losses of a transfer's last packets. ``"linux-6.12"``: RACK-TLP with the reduction of Linux's tcp_input.c, which
        sends less into a full buffer (cf. RFC 9937). Or a `LossRecovery` of one's own, in the standard convention. Cuts
        for congestion marks are at once, and rules of deliveries, which set the window in recovery and find losses by
        time themselves, run with ``"sack"`` under ``"prr"``, ``"rack"`` and ``"linux-6.12"``. Of rate rules
        ``"go-back-n"``, their default (the receiver takes packets in order alone, and tells of the first one beyond a
        gap; nothing acknowledged for ``min_rto`` of the scenario is a loss, too), ``"selective"`` or a
        `SelectiveRepair` with its timeouts (the receiver keeps packets that come out of order, and missing packets
        before them are sent again), or ``"none"``. A recovery for all flows applies to the flows that have it.
    phases
        Tick phases of the flows in s, in the flows' order; None: drawn as by ns-2. For
        ``convention="ns2"`` only.
    loss
        Probability, 0 <= p < 1, with which each packet (not ACK) that arrives at a link is lost before
        its queue, independently of all others: a mapping from link names (``"a->b"``), of which packets of data
        cross at least one; None: no random loss.
    frame_errors
        Probability, 0 <= p < 1, with which each packet (not ACK) that a link transmits has an error, independently of
        all others: a mapping from link names; None: none. The link sends it again (link-level retry, LLR of Ultra
        Ethernet): the error is noticed with the next frame that arrives, and everything from it on is sent again, so
        that nothing is lost or out of order (`dfcmodel.lossless.link_retry`). Frames or fillers are taken to follow
        each frame. In the standard convention.
    retry_delay
        Time to process a frame and the request for it, in s, besides propagation there and back.
    spraying
        How packets of sprayed flows (``paths`` of `Flow`) choose a path: ``"turns"``, one after the other, from one on
        that is hashed from the flow's number; ``"random"``: drawn for each packet; ``"least queue"``: in turn, and each
        switch sends the packet on over the link, among those on paths of the flow, with the fewest packets in its queue
        and transmission, at ties over that of the turn. `Trajectory.limits` says where no flow is sprayed.
    failures
        Times at which links are down, from and until in s or strings with a unit (inf: for ever): a mapping from link
        names to one pair or several. Packets that a link has begun to send and does not deliver before, or that it
        sends meanwhile, at its rate, are lost; pause messages are not. The other direction of a cable is another link.
        Flows with ``host="nic"`` are led by ECMP over shortest paths without these links, sprayed flows over their
        remaining paths; ACKs take a path that does not fail. Warnings name failures after the end of the run, those of
        links that no packet of data passes, and flows without a path for their ACKs.
    reroute_delay
        Time from a failure or a repair until hosts send by the new routes, in s. Packets keep the path that they have
        begun.
    ack_delay
        For how long, at most, a flow with ``delayed_acks`` delays an ACK, in s, up to 0.5 (RFC 5681, 4.2).
        The default is that of ns-2's ``DelAck``.
    ack_transmission
        Whether ACKs take time on each link of their way, and so queue there; otherwise they return after
        the propagation delays alone, as in the fluid. ns-2 always has them take time.
    count_smoothing
        Time constant, s, of the exponential average of the packets in a queue that the law of `DFC` reads:
        when it is read a time t after the last, it moves by t / (count_smoothing + t) of its distance to
        the number. 0: whole packets, as they are. Allowed only where a link has DFC.
    max_cpu_time
        Largest predicted CPU time of a run of `simulate` or `ensemble` in s; ``math.inf``: no limit. None: a run that
        is predicted to take more than a minute warns before it starts, and one of more than three hours is refused.

    Raises
    ------
    ValueError
        For an unknown convention or recovery, a number outside its range, and options that ns-2 does not have.

    Examples
    --------
    >>> from dfcmodel import simulate, takano2006
    >>> run = simulate(takano2006("1", dfc=False), method=Packets(seed=1), duration=0.2)
    >>> bool(run.delivered[0, -1] > 0)
    True
    """

    seed: int | None = None
    convention: str = "standard"
    recovery: Recovery | Mapping[str, Recovery] | None = None
    phases: WithUnits | None = None
    loss: Mapping[str, WithUnit] | None = None
    ack_transmission: bool = True
    ack_delay: WithUnit = 0.1
    count_smoothing: WithUnit = 0.0
    frame_errors: Mapping[str, WithUnit] | None = None
    retry_delay: WithUnit = 0.0
    spraying: str = "turns"
    failures: Mapping[str, Sequence[Any]] | None = None
    reroute_delay: WithUnit = 0.0
    max_cpu_time: WithUnit | None = None

    def __post_init__(self) -> None:
        if self.seed is not None:
            minimum = 0 if self.convention == "standard" else 1
            seed = seed_number("seed", self.seed, minimum=minimum, maximum=2**31 - 1)
            object.__setattr__(self, "seed", seed)
        choice("convention", self.convention, CONVENTIONS)
        choice("spraying", self.spraying, SPRAYINGS)
        if isinstance(self.recovery, Mapping):
            for name, kind in self.recovery.items():
                check_choice(f"recovery of flow {name!r}", kind)
        elif self.recovery is not None:
            check_choice("recovery", self.recovery)
        for which in ("loss", "frame_errors"):
            by_link = getattr(self, which)
            by_link = {} if by_link is None else by_link
            for name, p in instance(which, by_link, Mapping, "a mapping of links, or None").items():
                one_number(f"{which} of {name}", p, at_least=0.0, below=1.0)
        delays = (("retry_delay", 1.0), ("reroute_delay", 1e5), ("count_smoothing", 1e5))
        for name, longest in delays:
            one_number(name, getattr(self, name), at_least=0.0, at_most=longest, hint="in s")
            object.__setattr__(self, name, plain_number(getattr(self, name)))
        object.__setattr__(self, "failures", failures_of(self.failures))
        for name, option, needed in (
            ("retry_delay", self.retry_delay, "frame_errors"),
            ("reroute_delay", self.reroute_delay, "failures"),
        ):
            if option and getattr(self, needed) is None:
                raise ValueError(f"{name} = {option:g}: must be 0 without {needed}, after which it waits")
        if self.is_ns2 and self.failures:
            raise ValueError('failures: must be None with convention="ns2"')
        if self.is_ns2 and self.frame_errors:
            raise ValueError('frame_errors: must be None with convention="ns2"')
        one_number("ack_delay", self.ack_delay, above=0.0, at_most=MAX_ACK_DELAY, hint="in s")
        check_limit("max_cpu_time", self.max_cpu_time, "in s, or inf")
        flag("ack_transmission", self.ack_transmission)
        if self.is_ns2 and not self.ack_transmission:
            raise ValueError('ack_transmission = False: must be True with convention="ns2"')
        if self.phases is not None:
            object.__setattr__(self, "phases", tuple(number("phases", self.phases).ravel()))
            if self.convention != "ns2":
                raise ValueError('phases: must be None unless convention="ns2" (timer ticks)')
            for n, phase in enumerate(self.phases):
                one_number(f"phases[{n}]", phase, at_least=0.0, below=0.01, hint="in s")

    @property
    def is_ns2(self) -> bool:
        """Whether the conventions are ns-2's."""
        return self.convention == "ns2"

    def with_seed(self, random: np.random.Generator) -> Packets:
        """Return this method, with a random seed if it has none; ns-2 has a default seed."""
        if self.seed is not None or self.is_ns2:
            return self
        return replace(self, seed=int(random.integers(1, 2**31 - 1)))

    def recovery_of(self, scenario: Scenario) -> Sequence[str | LossRecovery]:
        """Return the loss recovery of each flow, "" without a window; ValueError for a recovery that does not fit."""
        chosen = self.recovery
        if isinstance(chosen, Mapping):
            names = list(scenario.table.names)
            for name in chosen:
                choice("recovery: flow", name, names)
            return tuple(self._recovery(flow.source, chosen.get(flow.name), flow.name) for flow in scenario.flows)
        if chosen is None and scenario.table.given("stack").any():
            return tuple(
                self._recovery(flow.source, STACKS[flow.stack].recovery if flow.stack else None)
                for flow in scenario.flows
            )
        return scenario.table.columns["source"].map(partial(self._recovery, chosen=chosen))

    def _recovery(self, source: Source, chosen: Recovery | None, name: str | None = None) -> str | LossRecovery:
        """Return a source's loss recovery: ``chosen`` (of flow ``name``, or all) if it can have it, else its own."""
        default: str | LossRecovery = getattr(source, "recovery", "")
        if default != "" and default not in RECOVERIES:
            check_choice(f"recovery of {source!r}", default)
        if isinstance(chosen, SelectiveRepair) or (chosen is not None and is_repair(chosen)):
            if name is not None and default:
                choice(f"recovery of flow {name!r} with {source!r}", chosen, RECOVERIES)
            chosen = None
        follows = isinstance(source, DeliveryRule) and not isinstance(source, NativeRule)
        sets_window = chosen in OWN_BY_DELIVERIES and follows
        return chosen if default and chosen is not None and not sets_window else default

    def repair_of(self, scenario: Scenario) -> Sequence[str | SelectiveRepair]:
        """Return the repair of each flow whose source is a rate rule; "" for other flows.

        Raises
        ------
        ValueError
            Where a mapping gives such a flow a recovery of windows, or for timeouts in the wrong order.
        """
        chosen = self.recovery
        usual: str | SelectiveRepair = REPAIRS[0]
        if chosen is not None and is_repair(chosen):
            usual = repair_named("recovery", chosen)
        sources = scenario.table.columns["source"]
        repairs: Sequence[str | SelectiveRepair]
        repairs = sources.map(lambda source: usual if isinstance(source, RateRule) else "")
        if isinstance(chosen, Mapping):
            by_flow = list(repairs)
            for f, flow in enumerate(scenario.flows):
                if isinstance(flow.source, RateRule) and flow.name in chosen:
                    name = f"recovery of flow {flow.name!r} with {flow.source!r}"
                    by_flow[f] = repair_named(name, chosen[flow.name])
            repairs = tuple(by_flow)
        for repair in among(repairs):
            if isinstance(repair, SelectiveRepair):
                repair.timeouts(scenario.min_rto)
        return repairs


def recovery_named(recovery: str | LossRecovery) -> LossRecovery:
    """Return the loss recovery of this name; an instance is returned unchanged."""
    return RECOVERIES[recovery] if isinstance(recovery, str) else recovery


def is_repair(recovery: object) -> bool:
    """Return whether a recovery is for rate rules: a name in `REPAIRS`, or a `SelectiveRepair`."""
    return isinstance(recovery, SelectiveRepair) or (isinstance(recovery, str) and recovery in REPAIRS)


def repair_named(name: str, recovery: object) -> str | SelectiveRepair:
    """Return a repair, "selective" as `SelectiveRepair`; ValueError, about the parameter ``name``, for other values."""
    if isinstance(recovery, SelectiveRepair):
        return recovery
    chosen = str(choice(name, recovery, REPAIRS))
    return SelectiveRepair() if chosen == "selective" else chosen


def check_choice(name: str, recovery: object) -> None:
    """Raise ValueError, with ``name``, unless a value names or is a loss recovery, or a repair for rate rules."""
    kind = getattr(recovery, "__name__", "")
    if not isinstance(recovery, LossRecovery) and hasattr(recovery, "on_duplicate_ack"):
        raise ValueError(f"{name} = {kind}: is a class; write {kind}()")
    if isinstance(recovery, LossRecovery):
        check_recovery(type(recovery))
    elif not isinstance(recovery, SelectiveRepair):
        choice(name, recovery, (*RECOVERIES, *REPAIRS))


Times = tuple[tuple[float, float], ...]
"""From when and until when a link is down, s, in order."""


def failures_of(failures: Any) -> dict[str, Times] | None:
    """Return {link: ((begin, end), ...)} from pairs of numbers in s, one or several per link, or None; ValueError."""
    if failures is None:
        return None
    by_link = {}
    for name, times in instance("failures", failures, Mapping, "a mapping of links, or None").items():
        rows = times if _is_pairs(times) else [times]
        if not all(isinstance(row, Sequence) and len(row) == 2 for row in rows):
            msg = "must be a pair of times in s, or several"
            raise ValueError(f"failures of {name} = {format_value(times)}: {msg}")
        last = 0.0
        for n, (begin, end) in enumerate(rows):
            where, hint = f"failures of {name}", "in s, not before the end of the pair before"
            one_number(f"{where}, begin of pair {n}", begin, at_least=last, hint=hint)
            if not is_endless(end):
                one_number(f"{where}, end of pair {n}", end, above=float(begin), hint="in s, or inf")
            last = float(end)
        by_link[name] = tuple((float(begin), float(end)) for begin, end in rows)
    return by_link


def _is_pairs(times: Any) -> bool:
    """Return whether times are several pairs instead of one pair."""
    return isinstance(times, Sequence) and len(times) > 0 and isinstance(times[0], Sequence)
