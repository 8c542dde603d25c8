"""The bundled runs of each rule, simulator by simulator."""

from __future__ import annotations

import pandas as pd

__all__ = ["apart"]


def apart(*tools: tuple[str, pd.DataFrame]) -> dict[str, dict[str, pd.DataFrame]]:
    """Return the runs of each rule by simulator.

    Parameters
    ----------
    tools
        The name of each simulator with the table of its runs.
    """
    found: dict[str, dict[str, pd.DataFrame]] = {}
    for tool, frame in tools:
        for rule, runs in frame.groupby("rule", sort=False):
            found.setdefault(str(rule), {})[tool] = runs
    return found
