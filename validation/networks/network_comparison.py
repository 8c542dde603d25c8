"""The fluid beside packets on some networks: shares of goodput, losses, first losses, spread of runs.

What it is judged by (`criteria`) and how the error of the model is taken from networks that it was developed
on (`model_error`) was written before ns-2's runs of the fresh networks were looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hopflow.intervals import t_quantile
from validation.networks.network_runs import fluid, packets_of, runs_of
from validation.networks.unseen_networks import SEEDS, Network
from validation.statistics import CONFIDENCE, LEVEL

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from dfcmodel import Fluid, Packets

SHARES, WORST, LOSSES, FIRST, SPREAD = 0.02, 0.06, 0.2, 0.05, 1.5
"""Largest mean error of a share; largest one beyond `JOINT` standard errors; largest relative difference of
the losses and of the time of the first one; largest factor of the standard deviation of runs, in the median."""

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
    seeds
        Number of runs of each network.
    """

    shares: pd.DataFrame
    networks: pd.DataFrame
    seeds: int = len(SEEDS)

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
    def half_widths(self) -> NDArray[np.float64]:
        """Half of the 95 % interval of each difference, from the spread over the seeds alone; (shares,)."""
        return np.asarray(t_quantile(self.seeds - 1) * self.shares["error"], dtype=np.float64)

    @property
    def inside(self) -> NDArray[np.bool_]:
        """Whether the 95 % interval of each difference covers zero, shape (shares,)."""
        return self.covered(0.0)

    def covered(self, model: float) -> NDArray[np.bool_]:
        """Return whether the intervals cover zero with an error of the model besides, shape (shares,).

        The half-width of the model's error is added in quadrature to that of the mean over the seeds.
        """
        half = np.hypot(self.half_widths, model)
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
    networks: Iterable[Network],
    method: Callable[[Network], Fluid | Packets] = fluid,
    seeds: tuple[int, ...] = SEEDS,
) -> Differences:
    """Run networks by one of our levels, the fluid by default, and compare it with their packets.

    Packets are ns-2's on the networks it ran, and the packet level's on others (`packets_of`).
    """
    import pandas as pd

    shares, whole = [], []
    for network in networks:
        packets, found = packets_of(network, seeds), runs_of(network, method(network), seeds)
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
    return Differences(pd.DataFrame(shares), pd.DataFrame(whole), len(seeds))


class Limits(NamedTuple):
    """The largest differences with which the criteria are met, and the largest ratio of spreads."""

    shares: float = SHARES
    worst: float = WORST
    losses: float = LOSSES
    first: float = FIRST
    ratio: float = SPREAD


LIMITS = Limits()


def criteria(found: Differences, model: float = 0.0, limits: Limits = LIMITS) -> dict[str, bool]:
    """Return whether each criterion is met.

    The 95 % intervals, with the error ``model`` of the model, fail if so few of independent ones cover zero with a
    probability below `LEVEL`; that they do not fail shows nothing where there are few (`validation.statistics.covers`).
    """
    from scipy.stats import binom

    inside = found.covered(model)
    return {
        "shares": found.mean_error <= limits.shares,
        "worst": found.beyond <= limits.worst,
        "losses": found.losses <= limits.losses,
        "first": found.first <= limits.first,
        "spread": 1.0 / limits.ratio <= found.spread <= limits.ratio,
        "interval": bool(binom.cdf(inside.sum(), len(inside), CONFIDENCE) >= LEVEL),
    }


def model_error(found: Differences) -> float:
    """Return the error of the model with which the intervals on these networks cover as often as they say.

    The half-width that has to be added in quadrature for one share is sqrt(max(0, d^2 - s^2)), with its
    difference d and the half-width s from the seeds alone. Of n shares it is the ceil(0.95 (n + 1))-th
    smallest, which covers that of another share drawn like them with a probability of at least 95 %
    (Vovk, Gammerman and Shafer 2005, Sect. 2.2); infinite for less than 19 shares.
    """
    excess = found.shares["difference"].to_numpy() ** 2 - found.half_widths**2
    needed = np.sort(np.sqrt(np.maximum(0.0, excess)))
    rank = int(np.ceil(CONFIDENCE * (len(needed) + 1)))
    return float(needed[rank - 1]) if rank <= len(needed) else float("inf")
