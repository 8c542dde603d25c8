"""The three hosts side by side: what a sender does with a window that the network does not take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from validation.claims.takano2006.measures import NEAR, SETTLED, spread, text
from validation.claims.takano2006.runs import HOSTS, case, frame, lost, rows, with_dfc
from validation.verdicts import Number

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd


@dataclass(frozen=True)
class Seen:
    """Mean and standard deviation over time of the target, and packets lost by both, per run."""

    spread: pd.DataFrame
    lost: np.ndarray

    def __str__(self) -> str:
        return (
            f"{text(self.spread['mean'].to_numpy())}; {self.spread['std'].mean():.3f}; "
            f"{self.lost.mean():.0f}"
        )


def with_host(name: str, host: str) -> tuple[Seen, Seen]:
    """Return what came out of a scenario with DFC and this host: the fluid, ns-3, for as long.

    The bundled cases of scenarios 4, 4S, 4L, 4R, 4N, 5 and 6 have all three.
    """
    data = case(name, "with")
    packets = rows(data, host=host)
    many = with_dfc(name, host, float(packets["time"].max()))
    dropped = rows(data, "flows", host=host).groupby("seed")["dropped"].sum()
    return (
        Seen(spread(frame(many), SETTLED), lost(many)),
        Seen(spread(packets, SETTLED), dropped.to_numpy(float)),
    )


def numbers(name: str, paper: str) -> tuple[Number, ...]:
    """Return a row of evidence per host."""
    found = []
    for host in HOSTS:
        fluid, packets = with_host(name, host)
        quantity = (
            f"target with DFC after 0.2 s, {host} hosts: mean; standard deviation over time; packets "
            "lost by both flows"
        )
        judged = f"0.5 is the fair share; unstable: ten times what counts as stable, {10 * NEAR}"
        found.append(Number(quantity, str(fluid), str(packets), paper, judged))
    return tuple(found)
