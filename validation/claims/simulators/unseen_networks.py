"""The fluid engine against packets on 24 networks that nothing was tuned to (S08)."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from responsefn import CUBIC
from validation.checks import claim
from validation.drawing import BLUE, GREY, RED, errorbars, label, panels
from validation.network_comparison import (
    FIRST,
    JOINT,
    LOSSES,
    SHARES,
    SPREAD,
    WORST,
    Differences,
    compare,
    criteria,
)
from validation.network_runs import CASE, fluid
from validation.unseen_networks import NETWORKS, SET_ASIDE, Network
from validation.verdicts import Judgement, Verdict, packets_only

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MIXED, MODULE = "newreno-cubic", 819 / 1024
"""Of NewReno and CUBIC, and the part of its window that CUBIC keeps in ns-2's TCP/Linux; RFC 9438: 0.7."""


@dataclass(frozen=True)
class Comparison:
    """Both halves of the networks.

    Attributes
    ----------
    aside, other
        The half that was set aside, and the other.
    chains, together, plain
        The chains of that other half, as they are, with ``Fluid(whole_losses=False)`` (every flow loses
        its part of an overflow) and with ``Fluid(store_and_forward=False)``.
    module
        The network of NewReno and CUBIC, with the part of the window that ns-2's module of CUBIC keeps.
    """

    aside: Differences
    other: Differences
    chains: Differences
    together: Differences
    plain: Differences
    module: Differences

    @property
    def standard(self) -> Differences:
        """The network of NewReno and CUBIC with RFC 9438's CUBIC, as it is judged."""
        tables = self.aside.shares, self.aside.networks
        return Differences(*(table[table["network"] == MIXED] for table in tables))


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
    """Run the fluid on all networks, and without two refinements on those not set aside."""
    aside = [network for name, network in NETWORKS.items() if name in SET_ASIDE]
    other = [network for name, network in NETWORKS.items() if name not in SET_ASIDE]
    chains = [network for network in other if network.topology == "chain"]
    return Comparison(
        aside=compare(aside),
        other=compare(other),
        chains=compare(chains),
        together=compare(chains, functools.partial(fluid, whole_losses=False)),
        plain=compare(chains, functools.partial(fluid, store_and_forward=False)),
        module=compare([of_module()]),
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
    """Judge the networks that were set aside."""
    limits = {"shares": shares, "worst": worst, "losses": losses, "first": first, "ratio": ratio}
    met = criteria(found.aside, **limits)
    return {key: packets_only(Verdict.of(holds)) for key, holds in met.items()}


@measure.draw
def shares_beside_packets(found: Comparison) -> Figure:
    """Draw the fluid's shares over ns-2's, and the losses and first losses by network."""
    import pandas as pd

    fig, axes = panels(("goodput shares", "losses and first losses"), 9.0, 3.8, sharey=False)
    halves = {"not set aside": (found.other, BLUE), "set aside": (found.aside, RED)}
    for name, (half, colour) in halves.items():
        rows = half.shares
        style = {"color": colour, "label": name}
        errorbars(axes[0], rows["packets"], rows["fluid"], JOINT * rows["error"], **style)
    axes[0].axline((0, 0), slope=1.0, color=GREY, lw=0.8)
    axes[0].legend(fontsize=8)
    label(axes[0], "in ns-2", "in the fluid")
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
    label(axes[1], "fluid over ns-2, less one (%)")
    axes[1].legend(fontsize=8)
    return fig
