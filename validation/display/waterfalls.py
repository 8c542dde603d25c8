"""The bundled waterfalls of claims: rows for their pages, and figures."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from validation import evidence
from validation.display.finding_rows import Gap, Picture

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

CASE = "packets/explained-claims"
ABOUT: Mapping[str, str] = {
    "D04": "Scenario 1 without DFC. The runs that are judged have random times before their packets, as ns-2's; "
    "packets here come when the protocol sends them.",
    "D05": "Scenario 2 without DFC. The runs that are judged have random times before their packets, as ns-2's; "
    "packets here come when the protocol sends them.",
    "D06": "Scenario 3 without DFC; packets come when the protocol sends them.",
    "D10": "Scenario 4 without DFC. The runs that are judged have random times before their packets, as ns-2's; "
    "packets here come when the protocol sends them.",
    "D18": "Scenario 1 with DFC over links of unequal delays. No refinement of the fluid brings it nearer: "
    "packets are counted whole by the law of DFC itself.",
    "K10": "Reno over one to three links, without reverse traffic. In the runs that are judged each packet waits up to the "
    "time of one, here packets come when the protocol sends them.",
    "M14": "Endless files over the bridges, paused, at the shortest round-trip time of the runs. The model of the claim is the chain, "
    "which is no scenario; this is the step from the fluid of `dfcmodel` to packets.",
}
"""What was compared, by claim."""
AT_ALL_NODES = {"packets lost": "packets lost at all nodes"}
"""Longer names of quantities that a page also has of single nodes."""


def gap_of(id: str) -> Gap | None:
    """Return the bundled waterfall of a claim; None: there is none."""
    if id not in ABOUT:
        return None
    table = _table(id)
    named = {_title(rows): rows for _, rows in table.groupby("quantity", sort=False)}
    return Gap(
        ABOUT[id],
        tuple(table["row"].unique()),
        {title: tuple(map(_cell, rows.itertuples())) for title, rows in named.items()},
        tuple(_sentence(title, rows) for title, rows in named.items()),
        CASE,
    )


def waterfall_of(id: str) -> Picture:
    """Return the figure of a claim's bundled waterfall."""
    caption = "From the fluid to packets: Shapley values of the refinements, with 95 % intervals."
    alt = "Bars from the fluid to packets, one for each refinement, with intervals"
    return Picture(functools.partial(_draw, id), caption, alt)


def _table(id: str) -> pd.DataFrame:
    """Return the rows of a claim, those of all quantities in the order of the first."""
    frame = evidence.frame(CASE).fillna({"units": ""})
    own = frame[frame["claim"] == id]
    order = list(dict.fromkeys(own["row"]))
    first = {name: n for n, name in enumerate(dict.fromkeys(own["quantity"]))}
    return own.sort_values(
        ["quantity", "row"],
        key=lambda names: names.map(first if names.name == "quantity" else order.index),
    )


def _title(rows: pd.DataFrame) -> str:
    name, units = str(rows["quantity"].iloc[0]).replace("_", " "), rows["units"].iloc[0]
    name = AT_ALL_NODES.get(name, name)
    return name if units in ("1", "") else f"{name} ({units})"


def _cell(row: Any) -> str:
    """Return a mean and half of its interval."""
    half = (row.high - row.low) / 2.0
    mean = _short(row.mean, "" if row.row in ("fluid", "packets") else "+")
    return mean if half <= 1e-3 * abs(row.mean) else f"{mean} ± {_short(half)}"


def _short(value: float, sign: str = "") -> str:
    """Return a number with two significant digits, or whole.

    Examples
    --------
    >>> _short(2585.3), _short(-0.01234, "+")
    ('2585', '-0.012')
    """
    return f"{value:{sign}.0f}" if abs(value) >= 100.0 else f"{value:{sign}.2g}"


def _sentence(title: str, rows: pd.DataFrame) -> str:
    own = rows.set_index("row")
    if not own[["mean", "low", "high"]].to_numpy().any():
        return f"{title}: 0 at both levels."
    parts = own.drop(["fluid", "packets", "unexplained"])
    certain = parts[(parts["low"] > 0.0) | (parts["high"] < 0.0)]["mean"]
    most = certain.loc[certain.abs().sort_values(ascending=False).index[:3]]
    shown = ", ".join(f"{name} {_short(mean, '+')}" for name, mean in most.items())
    mean, low, high = (float(own[name].loc["unexplained"]) for name in ("mean", "low", "high"))
    left = f"{_short(mean, '+')} ± {_short((high - low) / 2.0)}"
    verdict = "cannot be told from 0" if low <= 0.0 <= high else "is unexplained"
    fluid, packets = (_short(own["mean"].loc[end]) for end in ("fluid", "packets"))
    return (
        f"{title}: {fluid} in the fluid, {packets} in packets; "
        f"certain contributions: {shown or 'none'}; {left} {verdict}."
    )


def _draw(id: str) -> Figure:
    """Draw the waterfalls of a claim side by side."""
    import numpy as np
    import xarray as xr

    from hopflow.results import draw_waterfall
    from validation.display.drawing import figure

    table = _table(id)
    groups = [rows for _, rows in table.groupby("quantity", sort=False)]
    height = 1.2 + 0.3 * len(groups[0])
    fig, axes = figure(3.4 * len(groups) + 1.2, height, ncols=len(groups))
    for n, (ax, rows) in enumerate(zip(np.atleast_1d(axes), groups, strict=True)):
        own = rows.set_index("row")[["mean", "low", "high"]]
        parts = own.drop(["fluid", "packets"])
        data = xr.Dataset(
            {
                "contribution": (("part", "estimate"), parts.to_numpy()),
                "start": (("estimate",), own.loc["fluid"].to_numpy()),
                "packets": (("estimate",), own.loc["packets"].to_numpy()),
            },
            {"part": list(parts.index), "quantity": _title(rows), "units": ""},
            {"scenario": "", "runs": 0, "start": "fluid"},
        )
        draw_waterfall(data, ax)
        ax.set_title("")
        if n:
            ax.set_yticklabels([])
    return fig
