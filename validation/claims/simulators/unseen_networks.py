"""The fluid engine against packets on networks that nothing was tuned to (S08)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from responsefn import CUBIC
from validation.checks import claim
from validation.drawing import BLUE, GREY, RED, errorbars, label, panels
from validation.network_runs import CASE, as_in_ns2, fluid, packet_level, packets_of, runs_of
from validation.random_networks import FRESH
from validation.statistics import CONFIDENCE, LEVEL, quantile
from validation.unseen_networks import NETWORKS, SEEDS, Network
from validation.verdicts import Judgement, Verdict, packets_only

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from dfcmodel import Fluid, Packets

    Values = NDArray[np.float64]

SHARES, WORST, LOSSES, FIRST, SPREAD = 0.02, 0.06, 0.2, 0.05, 1.5
MIXED, MODULE = "newreno-cubic", 819 / 1024
"""Of NewReno and CUBIC, and the part of its window that CUBIC keeps in ns-2's TCP/Linux; RFC 9438: 0.7."""
JOINT = 2.0
"""Standard errors that the worst share may be off besides."""


@dataclass(frozen=True)
class Half:
    """The fluid beside ns-2 on some of the networks, each over the same seeds.

    Attributes
    ----------
    shares
        By group of flows: columns network, topology, rules, group, packets, fluid (means), difference
        (fluid less packets), error (its standard error over the seeds, whose instances are the same in
        both), spread (standard deviation of the fluid's runs over that of ns-2's).
    networks
        By network: columns network, topology, rules, lost (packets in ns-2, mean), ratio (the fluid's
        losses over them), first (s, mean time of the first loss in ns-2), later (the fluid's over it,
        less one).
    """

    shares: pd.DataFrame
    networks: pd.DataFrame

    @property
    def mean_error(self) -> float:
        """Mean absolute difference of the shares."""
        return float(self.shares["difference"].abs().mean())

    @property
    def chance(self) -> float:
        """Mean absolute difference that the errors alone would make, if they are normal."""
        return float(np.sqrt(2.0 / np.pi) * self.shares["error"].mean())

    @property
    def beyond(self) -> float:
        """Largest difference of a share beyond two joint standard errors; negative: within them."""
        return float((self.shares["difference"].abs() - JOINT * self.shares["error"]).max())

    @property
    def inside(self) -> NDArray[np.bool_]:
        """Whether the 95 % interval of each difference covers zero, shape (shares,)."""
        half = quantile(len(SEEDS) - 1) * self.shares["error"]
        return np.asarray(self.shares["difference"].abs() <= half, dtype=np.bool_)

    @property
    def losses(self) -> float:
        """Largest relative difference of the packets lost."""
        return float((self.networks["ratio"] - 1.0).abs().max())

    @property
    def first(self) -> float:
        """Largest relative difference of the time of the first loss."""
        return float(self.networks["later"].abs().max())

    @property
    def spread(self) -> float:
        """Median of the ratios of the standard deviations of runs, fluid over packets."""
        return float(self.shares["spread"].median())


@dataclass(frozen=True)
class Comparison:
    """Both halves of the networks.

    Attributes
    ----------
    aside, other
        The fresh networks, which are judged, and those that work on the fluid has seen.
    chains, together, plain
        The chains of the others, as they are, with ``Fluid(whole_packets=False)`` (every flow loses
        its part of an overflow) and with ``Fluid(store_and_forward=False)``.
    module
        The network of NewReno and CUBIC, with the part of the window that ns-2's module of CUBIC keeps.
    control
        Those of the others whose rules it has, the packet level in place of the fluid.
    """

    aside: Half
    other: Half
    chains: Half
    together: Half
    plain: Half
    module: Half
    control: Half

    @property
    def standard(self) -> Half:
        """The network of NewReno and CUBIC with RFC 9438's CUBIC, as it is judged."""
        tables = self.other.shares, self.other.networks
        return Half(*(table[table["network"] == MIXED] for table in tables))


def compare(
    networks: Iterable[Network], method: Callable[[Network], Fluid | Packets] = fluid
) -> Half:
    """Run networks by one of our levels, the fluid by default, and compare it with their packets."""
    import pandas as pd

    shares, whole = [], []
    for network in networks:
        packets, found = packets_of(network), runs_of(network, method(network))
        about = {
            "network": network.name, "topology": network.topology, "rules": network.rules,
        }  # fmt: skip
        gaps = found.shares - packets.shares
        for n, group in enumerate(dict.fromkeys(network.groups)):
            deviations = [each.shares[:, n].std(ddof=1) for each in (found, packets)]
            shares.append(
                {
                    **about, "group": group, "packets": packets.shares[:, n].mean(),
                    "fluid": found.shares[:, n].mean(), "difference": gaps[:, n].mean(),
                    "error": gaps[:, n].std(ddof=1) / np.sqrt(len(gaps)),
                    "spread": deviations[0] / deviations[1],
                }
            )  # fmt: skip
        whole.append(
            {
                **about, "lost": packets.lost.mean(), "ratio": found.lost.mean() / packets.lost.mean(),
                "first": packets.first.mean(),
                "later": found.first.mean() / packets.first.mean() - 1.0,
            }
        )  # fmt: skip
    return Half(pd.DataFrame(shares), pd.DataFrame(whole))


def of_module() -> Network:
    """Return the network of NewReno and CUBIC with the CUBIC of ns-2's TCP/Linux."""
    network = NETWORKS[MIXED]
    flows = (
        replace(flow, source=CUBIC(beta=MODULE)) if isinstance(flow.source, CUBIC) else flow
        for flow in network.scenario.flows
    )
    return replace(network, scenario=replace(network.scenario, flows=tuple(flows)))


@claim("S08", cases=(CASE,))
def measure() -> Comparison:
    """Run the fluid on all networks, and without two refinements on chains."""
    chains = [network for network in NETWORKS.values() if network.topology == "chain"]
    return Comparison(
        aside=compare(FRESH.values()),
        other=compare(NETWORKS.values()),
        chains=compare(chains),
        together=compare(chains, functools.partial(fluid, whole_packets=False)),
        plain=compare(chains, functools.partial(fluid, store_and_forward=False)),
        module=compare([of_module()]),
        control=compare(filter(as_in_ns2, NETWORKS.values()), packet_level),
    )


@measure.judge
def judge(
    found: Comparison,
    *,
    shares: float = SHARES,
    worst: float = WORST,
    losses: float = LOSSES,
    first: float = FIRST,
    ratio: float = SPREAD,
) -> Judgement:
    """Judge the fresh networks."""
    from scipy.stats import binom

    aside = found.aside
    covered = binom.cdf(aside.inside.sum(), len(aside.inside), CONFIDENCE)
    verdicts = {
        "shares": Verdict.of(aside.mean_error <= shares),
        "worst": Verdict.of(aside.beyond <= worst),
        "losses": Verdict.of(aside.losses <= losses),
        "first": Verdict.of(aside.first <= first),
        "spread": Verdict.of(1.0 / ratio <= aside.spread <= ratio),
        "interval": Verdict.of(bool(covered >= LEVEL)),
    }
    return {key: packets_only(verdict) for key, verdict in verdicts.items()}


@measure.draw
def shares_beside_packets(found: Comparison) -> Figure:
    """Draw the fluid's shares over ns-2's, and the losses and first losses by network."""
    import pandas as pd

    fig, axes = panels(("goodput shares", "losses and first losses"), 9.0, 3.8, sharey=False)
    halves = {"seen before": (found.other, BLUE), "fresh": (found.aside, RED)}
    for name, (half, colour) in halves.items():
        rows = half.shares
        style = {"color": colour, "label": name}
        errorbars(axes[0], rows["packets"], rows["fluid"], JOINT * rows["error"], **style)
    axes[0].axline((0, 0), slope=1.0, color=GREY, lw=0.8)
    axes[0].legend(fontsize=8)
    label(axes[0], "in packets", "in the fluid")
    networks = pd.concat([half.networks for half, _ in halves.values()])
    places = np.arange(len(networks))
    for shift, name, values in (
        (-0.2, "losses", networks["ratio"] - 1.0),
        (0.2, "first loss", networks["later"]),
    ):
        axes[1].barh(places + shift, 100.0 * values, 0.4, label=name)
    axes[1].set_yticks(places, networks["network"], fontsize=6)
    axes[1].invert_yaxis()
    axes[1].axvline(0.0, color="black", lw=0.8)
    label(axes[1], "fluid over packets, less one (%)")
    axes[1].legend(fontsize=8)
    return fig
