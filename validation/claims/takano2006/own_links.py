"""The bundled runs of takano2006's chain whose hosts are as the paper describes them (`validation.networks.own_links`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from validation import evidence
from validation.claims.takano2006.studies import Efficiencies
from validation.networks.own_links import KINDS

if TYPE_CHECKING:
    import pandas as pd

    from validation.statistics import Values

CASE = "takano2006/own-links"


def rows(name: str, kind: str, table: str, *, dfc: bool) -> pd.DataFrame:
    """Return the rows of the runs of a scenario and a kind (`validation.networks.own_links.KINDS`)."""
    data = evidence.frame(CASE, table)
    clocks, convention = KINDS[kind]
    own = (data["scenario"] == name) & (data["dfc"] == int(dfc)) & (data["clocks"] == clocks)
    return data[own & (data["convention"] == convention)]


def _runs(name: str, kind: str, *, dfc: bool) -> tuple[Efficiencies, Values]:
    lost = rows(name, kind, "flows", dfc=dfc).groupby("seed")["dropped"].sum().to_numpy(float)
    return Efficiencies.of_packets(rows(name, kind, "efficiency", dfc=dfc)), lost


def runs_without_dfc(name: str, kind: str) -> tuple[Efficiencies, Values]:
    """Return the efficiencies and the packets lost, (runs,), of hosts with a link of their own.

    Examples
    --------
    >>> from validation.claims.takano2006.own_links import runs_without_dfc
    >>> runs, lost = runs_without_dfc("1", "as in ns-2")
    >>> len(lost), bool(runs.flows["target"].mean() < 0.2)
    (8, True)
    """
    return _runs(name, kind, dfc=False)


def runs_with_dfc(name: str, kind: str) -> tuple[Efficiencies, Values]:
    """Return the same of shaped hosts with DFC, whose simultaneous events decide nothing."""
    return _runs(name, kind if KINDS[kind][0] else "departures first", dfc=True)


def first_losses(name: str) -> dict[str, Values]:
    """Return the target's part of the first losses where both flows meet, (runs,), by kind; nan: no losses.

    First are the losses of 50 ms.

    Examples
    --------
    >>> from validation.claims.takano2006.own_links import first_losses
    >>> {kind: round(float(part.mean()), 1) for kind, part in first_losses("1").items()}["as in ns-2"]
    1.0
    """
    found = {}
    for kind in KINDS:
        data = rows(name, kind, "flows", dfc=False)
        wide = data.pivot_table(index="seed", columns="flow", values="dropped_first")
        both = (wide["target"] + wide["background"]).to_numpy(float)
        part = np.divide(wide["target"].to_numpy(float), both, where=both > 0, out=both * np.nan)
        found[kind] = part
    return found
