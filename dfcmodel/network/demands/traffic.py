"""Random traffic between hosts: flows whose sizes follow a measured distribution, at a load of the hosts' links."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.network.demands.collectives import (
    FlowOptions,
    Routing,
    build_flows,
    collective_hosts,
    in_one_server,
    options_of,
)
from dfcmodel.network.demands.flow_files import packet_size_for
from dfcmodel.network.flows import Flows
from dfcmodel.network.links import Column, Links
from hopflow.checks import choice, format_value, instance, number, one_number, random_generator
from hopflow.deprecations import takes_options
from hopflow.fork_safety import cached_property
from hopflow.parameters import in_packets_of, param, validate_parameters
from hopflow.units import PacketUnits, WithUnit, WithUnits, quantities

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.network.endpoints.sources import Source
    from dfcmodel.network.links import Link

    Floats = NDArray[np.float64]

__all__ = ["FlowSizes", "TrafficOptions", "flow_sizes", "random_traffic"]

MAX_FLOWS = 10**8
"""Largest expected number of flows of `random_traffic`."""


@quantities(sizes="size", shares="share")
@dataclass(frozen=True)
class FlowSizes:
    """A distribution of flow sizes in bytes: points of the distribution function, linear in between.

    `flow_sizes` returns published distributions.

    Parameters
    ----------
    name
        Name of the distribution in results.
    sizes
        Bytes, increasing, the first one at least 0.
    shares
        Fraction of the flows of at most each size, increasing to 1; the first is 0, or the fraction of flows of exactly
        the first size.

    Raises
    ------
    ValueError
        For sizes that do not increase, shares that fall or do not end at 1, and lists of unequal length.

    Examples
    --------
    >>> from dfcmodel import FlowSizes
    >>> short_and_long = FlowSizes("two kinds", (1000, 2000, 1e6), (0.0, 0.9, 1.0))
    >>> round(short_and_long.mean)
    51450
    >>> short_and_long.quantiles([0.45, 1.0]).tolist()
    [1500.0, 1000000.0]
    """

    name: str
    sizes: WithUnits
    shares: WithUnits

    def __post_init__(self) -> None:
        instance("name", self.name, str, "a text")
        for key, high, unit in (("sizes", 1e18, "in bytes"), ("shares", 1.0, "fractions of 1: divide per cent by 100")):
            values = number(key, getattr(self, key), at_least=0.0, at_most=high, hint=unit)
            if values.ndim != 1 or len(values) < 2:
                raise ValueError(f"{key} = {format_value(getattr(self, key))}: must be two numbers or more")
            falls = np.diff(values) <= 0 if key == "sizes" else np.diff(values) < 0
            if falls.any():
                n = int(falls.argmax())
                raise ValueError(f"{key}[{n + 1}] = {values[n + 1]:g} after {values[n]:g}: must increase")
            object.__setattr__(self, key, tuple(values.tolist()))
        if len(self.sizes) != len(self.shares):
            counts = f"{len(self.sizes)} sizes and {len(self.shares)} shares"
            raise ValueError(f"shares: {counts}, must be as many")
        if self.shares[-1] != 1.0:
            raise ValueError(f"shares[-1] = {self.shares[-1]:g}: must be 1")

    @cached_property
    def mean(self) -> float:
        """Mean size in bytes."""
        sizes, shares = np.array(self.sizes), np.array(self.shares)
        inner = np.diff(shares) * (sizes[1:] + sizes[:-1]) / 2.0
        return float(shares[0] * sizes[0] + inner.sum())

    def mean_packets(self, packet_size: float) -> float:
        """Return the mean number of packets of ``packet_size`` bytes, with the last packet of a flow rounded up."""
        count = math.ceil(self.sizes[-1] / packet_size)
        bytes_of = np.arange(count) * packet_size
        share = np.interp(bytes_of, self.sizes, self.shares, left=0.0)
        share[0] = 0.0  # a flow has a packet at least
        return float((1.0 - share).sum())

    @quantities(shares="share")
    def quantiles(self, shares: Any) -> Floats:
        """Return the sizes in bytes, of the shape of ``shares``, below which these shares of the flows are."""
        values = number("shares", shares, at_least=0.0, at_most=1.0)
        return np.asarray(np.interp(values, self.shares, self.sizes))


PUBLISHED = (
    FlowSizes(
        "web search",
        (0, 1e4, 2e4, 3e4, 5e4, 8e4, 2e5, 1e6, 2e6, 5e6, 1e7, 3e7),
        (0, 0.15, 0.20, 0.30, 0.40, 0.53, 0.60, 0.70, 0.80, 0.90, 0.97, 1.0),
    ),
    FlowSizes(
        "data mining",
        (100, 180, 250, 560, 900, 1100, 1870, 3160, 1e4, 1e5, 4e5, 1.85e6, 1e7, 3e7, 1e8, 2.5e8, 1e9),
        (0, 0.085, 0.14, 0.33, 0.47, 0.55, 0.65, 0.70, 0.80, 0.874, 0.90, 0.95, 0.97, 0.98, 0.99, 0.995, 1.0),
    ),
    FlowSizes(
        "hadoop",
        (0, 100, 200, 300, 350, 400, 500, 600, 700, 1e3, 2e3, 7e3, 3e4, 5e4, 8e4, 1.2e5, 3e5, 1e6, 2e6, 1e7),
        (
            *(0, 0.01, 0.02, 0.05, 0.15, 0.20, 0.30, 0.40, 0.50, 0.60, 0.67, 0.70, 0.72, 0.82, 0.87, 0.90, 0.95),
            *(0.975, 0.99, 1.0),
        ),
    ),
)  # fmt: skip
"""See `flow_sizes`."""


def flow_sizes(name: str) -> FlowSizes:
    """Return a published distribution of flow sizes by its name.

    Parameters
    ----------
    name
        ``"web search"``: Alizadeh et al. 2010 (DCTCP, Fig. 4), at the points that Li et al. 2019 (HPCC) published with
        their traffic generator. ``"hadoop"``: Roy et al. 2015 (Fig. 6), at the points of Li et al. 2019. ``"data
        mining"``: Greenberg et al. 2009 (VL2, Fig. 2), at the points that Mellette et al. 2020 (Opera, Fig. 1)
        published, except that its size of 100,001 bytes is 100,000.

    Raises
    ------
    ValueError
        For an unknown name.

    Examples
    --------
    >>> from dfcmodel import flow_sizes
    >>> flow_sizes("web search").mean
    1711250.0
    """
    by_name = {distribution.name: distribution for distribution in PUBLISHED}
    return by_name[choice("name", name, tuple(by_name))]


@validate_parameters
@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class TrafficOptions(FlowOptions):
    """Dataclass of the options of `random_traffic`: seed, bytes per packet, and all of `FlowOptions`, which it extends.

    Parameters
    ----------
    seed
        Seed, or generator, of the random pairs, sizes and starts.
    packet_size
        Bytes per packet; None: `Links.packet_size`, otherwise 1500. A `Scenario` with packets of another size converts
        the bytes of each flow to its packets. It refuses them if the rates of the links are numbers of packets/s, since
        the load holds for packets of this size.
    names, max_window, host, priority, delayed_acks, pacing, idle, random_idle, stop, handshake, arrivals, weight
        As for `FlowOptions`.
    after, delays, initial_window, ssthresh, quick_acks, ttl, segments, receiver, entropy
        As for `FlowOptions`.

    Examples
    --------
    >>> from dfcmodel import TrafficOptions
    >>> TrafficOptions(seed=1, host="nic")
    TrafficOptions(host='nic', seed=1)
    """

    seed: int | np.random.Generator | None = param(0)
    packet_size: WithUnit | None = param(None, "size", at_least=1.0, hint="in bytes")


@takes_options(TrafficOptions, by_position=("seed",))
@quantities(duration="time", load="share")
def random_traffic(
    hosts: Iterable[Hashable],
    sizes: FlowSizes | str,
    load: WithUnit,
    duration: WithUnit,
    *,
    source: Source | Sequence[Source],
    links: Iterable[Link],
    routes: Routing = "ecmp",
    options: FlowOptions | None = None,
) -> Flows:
    """Return flows between random pairs of hosts, a Poisson process that offers ``load``, a fraction of hosts' rates.

    Parameters
    ----------
    hosts
        At least two nodes. Sources are drawn with equal probability, targets among the others.
    sizes
        Distribution of sizes, or its name in `flow_sizes`. A flow has the packets that hold its bytes, at least one.
    load
        Mean fraction of the rates of the hosts' outgoing links that packets use, above 0, at most 10.
    duration
        Flows start from 0 to this time in s.
    source, links, routes
        As for `flows_from`.
    options
        Seed, bytes per packet, and options of the flows, see `TrafficOptions`.

    Raises
    ------
    ValueError
        Naming the parameter, its value and the allowed values; if no flow is drawn.

    Examples
    --------
    >>> from dfcmodel import Fabric, random_traffic
    >>> from dfcmodel.lossless import leaf_spine
    >>> from responsefn import DCQCN
    >>> fabric = Fabric(leaf_spine(4, 2, hosts=4))
    >>> flows = random_traffic(fabric.hosts, "web search", 0.3, 0.01, source=DCQCN(), links=fabric.links)
    >>> 300 < len(flows) < 400  # 16 hosts of 100 Gb/s, flows of 1.7 MB on average, 10 ms
    True
    """
    if isinstance(sizes, str):
        choice("sizes", sizes, tuple(distribution.name for distribution in PUBLISHED))
        sizes = flow_sizes(sizes)
    instance("sizes", sizes, FlowSizes, "FlowSizes, or a name such as 'web search'")
    load = one_number("load", load, above=0.0, at_most=10.0)
    duration = one_number("duration", duration, above=0.0, at_most=1e5, hint="in s")
    stated = options_of(options, TrafficOptions)
    random, requested = random_generator("seed", stated.pop("seed", 0)), stated.pop("packet_size", None)
    common = {"source": source, "links": links, "routes": routes, **stated}
    nodes, arguments = collective_hosts(hosts, common)
    packet_size = packet_size_for(requested, arguments)
    hosts_of_links, of_hosts = set(nodes), list[Any]()
    for link in arguments["links"]:
        if link.source in hosts_of_links:
            of_hosts.append(in_packets_of(link.rate, packet_size))
    rates = float(sum(of_hosts))
    expected = load * rates * duration / sizes.mean_packets(packet_size)
    if not 0.0 < expected <= MAX_FLOWS:
        msg = f"{expected:.3g} flows are expected, must be above 0 and at most {MAX_FLOWS:g}"
        raise ValueError(f"load = {load:g}, duration = {duration:g}: {msg}")
    count = int(random.poisson(expected))
    if not count:
        count_text = f"{expected:.3g} are expected with packet_size = {packet_size:g}"
        msg = f"no flow was drawn, {count_text}; increase load or duration"
        raise ValueError(f"load = {load:g}, duration = {duration:g}: {msg}")
    starts = np.sort(random.uniform(0.0, duration, count))
    origin = random.integers(len(nodes), size=count)
    target = (origin + random.integers(1, len(nodes), size=count)) % len(nodes)
    table = Links.of(arguments["links"])
    if table.servers:
        index = np.array([table.place_of[node] for node in nodes])
        while (within := in_one_server(table, index[origin], index[target])).any():
            target[within] = random.integers(len(nodes), size=int(within.sum()))
    drawn, which = np.unique(sizes.quantiles(random.uniform(size=count)), return_inverse=True)
    packets = np.maximum(1.0, np.ceil(drawn / packet_size))
    if not all(isinstance(rate, PacketUnits) for rate in of_hosts):
        drawn = np.full(len(drawn), np.nan)
    values = tuple(map(PacketUnits, packets.tolist(), repeat(packet_size), drawn.tolist()))
    pairs = (Column(nodes, indices, count) for indices in (origin, target))
    sources, targets = pairs
    column = Column(values, which.reshape(-1) if len(values) > 1 else None, count)
    return build_flows(sources, targets, column, starts, **arguments)
