"""A short run of each kernel of this package that users meet first, which `hopflow.kernels.build` compiles."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dfcmodel.network.queueing.disciplines import Discipline

__all__ = ["short_calls"]


def short_calls() -> Mapping[str, Callable[[], Any]]:
    """Return functions, by name, that call each engine and rule briefly, so that their kernels are compiled."""
    from dfcmodel import (
        CAKE,
        INT,
        PFC,
        PI2,
        PIE,
        RED,
        CoDel,
        Credits,
        DeficitRoundRobin,
        DualPI2,
        FlowQueueCoDel,
        RampMarking,
        ShortestRemaining,
        WeightedFair,
    )
    from dfcmodel.packets.recoveries import RECOVERIES
    from responsefn import CUBIC, HPCC, catalogue

    queues = (
        *(RED(), CoDel(), PIE(), PI2(), FlowQueueCoDel(), CAKE(), DualPI2()),
        *(WeightedFair(), DeficitRoundRobin(), ShortestRemaining()),
    )

    marking = PFC(xoff=40, xon=20, counts="switch", manager=RampMarking(low=10, high=40, max_p=0.1))

    rules = [*catalogue("rule").entries, *catalogue("delivery rule").entries]
    return {
        "fluid": partial(_chain, "fluid"),
        "packets": partial(_chain, "packets"),
        **{f"{rule!r} in packets": partial(_alone, rule) for rule in rules},
        "PFC in a fabric": partial(_fabric, PFC(xoff=40, xon=20, counts="switch")),
        "credits in a fabric": partial(_fabric, Credits()),
        **{
            f"{rule!r} in a fabric": partial(_fabric, INT() if rule == HPCC() else marking, rule)
            for rule in catalogue("rate rule").entries
        },
        **{f"losses repaired by {name}": partial(_recover, name) for name in RECOVERIES},
        "elements of a path": _elements,
        "native rules": _native,
        **{f"{queue!r} at a bottleneck": partial(_alone, CUBIC(), queue) for queue in queues},
        "headroom": _headroom,
        "deadlock": _deadlock,
    }


def _chain(level: Any) -> None:
    """Simulate DFC on a chain for a short time at a level, which compiles the kernels that it needs."""
    from dfcmodel import simulate, takano2006

    simulate(takano2006("1", dfc=True), level=level, duration=0.02)


def _recover(recovery: str) -> None:
    """Simulate NewReno with the loss recovery of this name for a short time, which compiles its events."""
    from dfcmodel import Packets, simulate, takano2006

    simulate(takano2006("1", dfc=True), Packets(recovery=recovery), duration=0.02)


def _native() -> None:
    """Compile the events of native rules and the loop of suites that calls them, without a library."""
    from dfcmodel import NativeRule
    from dfcmodel.packets.engine import sender_events
    from dfcmodel.sharing.suites.native_connections import load_loop

    load_loop()
    sender_events(((NativeRule, ("unused",)),))


def _elements() -> None:
    """Simulate a path with each kind of element for a short time, which compiles their functions."""
    from dfcmodel import (
        Aggregation,
        BurstLoss,
        Flow,
        Jitter,
        Link,
        MaxTransitDelay,
        PeriodicLoss,
        Policer,
        Reordering,
        Scenario,
        simulate,
    )
    from responsefn import CUBIC

    links = Link("sender", "queue", 8000.0, 0.001, 100), Link("queue", "receiver", 800.0, 0.009, 10)
    flow = Flow("flow", ("sender", "queue", "receiver"), CUBIC())
    name = links[1].name
    elements = (
        *(Jitter(name, 1e-3), Reordering(name, 0.01, 1e-3), Aggregation(name, interval=1e-3)),
        *(Policer(name, 700.0, 20.0), BurstLoss(name, 1e-3, 0.5), PeriodicLoss(name, 100)),
        MaxTransitDelay(name, 1.0),
    )
    simulate(Scenario("first use", links, (flow,), elements=elements), level="packets", duration=0.2)


def _headroom() -> None:
    """Compute a headroom and prove that it is needed."""
    from dfcmodel.lossless import headroom

    headroom("100Gbps", "50m").witness()


def _deadlock() -> None:
    """Search a dragonfly for cycles of buffers, which compiles the kernel of the search."""
    from dfcmodel.lossless import buffer_cycles, dragonfly

    buffer_cycles(dragonfly(8, 2))


def _alone(rule: Any, queue: Any = None) -> None:
    """Simulate one flow of a rule over a queue, by default FIFO, at packet level."""
    from dfcmodel import FIFO, Flow, Link, Scenario, simulate

    links = (
        Link("sender", "queue", 8000.0, 0.001, 100),
        Link("queue", "receiver", 800.0, 0.009, 10, queue or FIFO()),
    )
    flow = Flow("flow", ("sender", "queue", "receiver"), rule)
    simulate(Scenario("first use", links, (flow,)), level="packets", duration=0.2)


def _fabric(discipline: Discipline, rule: Any = None) -> None:
    """Simulate a fabric of hosts and switches with a discipline and a rule, by default a constant rate."""
    from dfcmodel import Cable, Fabric, FlowOptions, permutation, simulate
    from dfcmodel.lossless import leaf_spine
    from responsefn import FixedRate

    fabric = Fabric(
        leaf_spine(2, 2, hosts=2),
        access=Cable("100Gbps", "10m"),
        trunk=Cable("200Gbps", "50m"),
        buffer="1 MB",
        packet_size=4096,
        discipline=discipline,
    )
    flows = permutation(
        fabric.hosts,
        1,
        sizes=20,
        source=rule or FixedRate(),
        links=fabric.links,
        routes="ecmp",
        options=FlowOptions(host="nic"),
    )
    simulate(fabric.scenario("first use", flows, 1e-4), level="packets")
