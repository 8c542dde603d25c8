"""The fluid beside packets on some networks: shares of goodput, losses, first losses, spread of runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from validation.network_runs import fluid, packets_of, runs_of
from validation.statistics import quantile
from validation.unseen_networks import SEEDS, Network

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from dfcmodel import Fluid, Packets

__all__ = ["JOINT", "Differences", "compare"]

JOINT = 2.0
"""Standard errors that the worst share may be off besides."""


@dataclass(frozen=True)
class Differences:
    """The fluid beside packets on some of the networks, each over the same seeds.

    Attributes
    ----------
    shares
        By group of flows: columns network, topology, rules, group, packets, fluid (means), difference
        (fluid less packets), error (its standard error over the seeds, whose instances are the same in
        both), spread (standard deviation of the fluid's runs over that of the packets').
    networks
        By network: columns network, topology, rules, lost (packets, mean), ratio (the fluid's losses
        over them), first (s, mean time of the packets' first loss), later (the fluid's over it, less
        one).
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


def compare(
    networks: Iterable[Network], method: Callable[[Network], Fluid | Packets] = fluid
) -> Differences:
    """Run networks by one of our levels, the fluid by default, and compare it with their packets.

    Packets are ns-2's on the networks it ran, and the packet level's on others (`packets_of`).
    """
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
    return Differences(pd.DataFrame(shares), pd.DataFrame(whole))
