"""Headrooms of all ports and cables of a switch as a table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from dfcmodel.lossless.datasheets import HEADROOM_UNITS, PauseDatasheet
from dfcmodel.lossless.paused.headrooms import headroom
from hopflow.checks import format_value
from hopflow.deprecations import takes_options
from hopflow.units import declares

if TYPE_CHECKING:
    import pandas as pd

    from dfcmodel.lossless.quantities import Given, Range

__all__ = ["headroom_table"]


@takes_options(PauseDatasheet, "datasheet")
@declares(rates="bit_rate", cables="length", **HEADROOM_UNITS)
def headroom_table(
    rates: Iterable[Given],
    cables: Iterable[Range],
    *,
    mtu: Given = 9216,
    lossless_mtu: Given | None = None,
    cell: Given | None = None,
    small_packets: float | tuple[float, float] = 0.0,
    classes: int = 1,
    datasheet: PauseDatasheet | None = None,
) -> pd.DataFrame:
    """Return the headroom in bytes by rate (rows) and cable (columns), as a DataFrame.

    Parameters
    ----------
    rates, cables
        Lists of at least one value of `headroom`; a cable may be a range.
    mtu, lossless_mtu, cell, small_packets, classes, datasheet
        As for `headroom`.

    Raises
    ------
    TypeError
        If rates or cables are not a list.
    ValueError
        If a list is empty, or naming the parameter of `headroom`, its value and the allowed values.

    Examples
    --------
    >>> from dfcmodel import headroom_table
    >>> print(headroom_table(["100Gbps", "400Gbps"], ["5m", "300m"], cell=192))
                5m    300m
    100Gbps  44160   81024
    400Gbps  78720  225792
    """
    import pandas as pd

    lists: list[list[Any]] = []
    for name, values in (("rates", rates), ("cables", cables)):
        if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
            raise TypeError(f"{name} = {format_value(values)}: must be a list")
        lists.append(list(values))
        if not lists[-1]:
            raise ValueError(f"{name} = []: must have at least one")
    sizes = (mtu, lossless_mtu, cell)
    others: dict[str, Any] = {"small_packets": small_packets, "classes": classes, "datasheet": datasheet}
    rows = {str(rate): [headroom(rate, cable, *sizes, **others).bytes for cable in lists[1]] for rate in lists[0]}
    return pd.DataFrame.from_dict(rows, orient="index", columns=[_name(cable) for cable in lists[1]])


def _name(cable: Any) -> str:
    """Return the name of a cable's column; a pair is a range such as ``100m..300m``."""
    return "..".join(map(str, cable)) if isinstance(cable, (tuple, list)) else str(cable)
