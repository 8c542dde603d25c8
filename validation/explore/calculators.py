"""Views as calculators: settings from an address, the answer as JSON.

The documentation's page of calculators runs this module in the browser. Headroom, credits and audits need NumPy alone,
the others SciPy too; none needs Numba.
"""

from __future__ import annotations

import json
import math
from importlib import import_module
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode

from hopflow.checks import choice

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from validation.explore.views import Chart, Drawing, View

CALCULATORS = {
    "headroom": ("port_headroom", ("numpy",)),
    "audit": ("table_audit", ("numpy",)),
    "credits": ("link_credits", ("numpy",)),
    "pool": ("shared_pool", ("numpy", "scipy")),
    "threshold": ("pause_threshold", ("numpy", "scipy")),
}
"""Module of each calculator's view, and the packages that it needs."""


def calculator(name: str) -> View:
    """Return the view of a calculator.

    Raises
    ------
    ValueError
        For an unknown name.
    """
    module, _ = CALCULATORS[choice("calculator", name, CALCULATORS)]
    view: View = import_module(f"validation.explore.{module}").VIEW
    return view


def address(name: str, **texts: str) -> str:
    """Return the part of an address after ``#``: a calculator and the texts of all its knobs.

    >>> address("headroom", cable="37m")[:38]
    'headroom?rate=400Gbps&cable=37m&small='

    Raises
    ------
    ValueError
        For a name that is no knob's, and for a text that its knob does not allow.
    """
    view = calculator(name)
    knobs = {knob.name: knob.start for knob in view.knobs}
    for given in texts:
        choice("setting", given, knobs)
    view.values(**texts)
    return f"{name}?{urlencode(knobs | texts)}"


def settings(fragment: str) -> tuple[str, dict[str, str]]:
    """Return the calculator of an address and the texts of all its knobs; those that it omits stay where they start.

    >>> name, texts = settings("headroom?cable=37m")
    >>> name, texts["cable"], texts["rate"]
    ('headroom', '37m', '400Gbps')

    Raises
    ------
    ValueError
        For an unknown calculator or setting, and for a text that is not allowed.
    """
    name, _, query = fragment.removeprefix("#").partition("?")
    view = calculator(name)
    knobs = {knob.name: knob.start for knob in view.knobs}
    texts = dict(parse_qsl(query, keep_blank_values=True))
    for given in texts:
        choice("setting", given, knobs)
    view.values(**texts)
    return name, knobs | texts


def answer(fragment: str) -> str:
    """Return what a calculator finds for the settings in an address, as JSON; of bad settings, the message.

    >>> json.loads(answer("headroom?cable=0m&rate=1furlong"))["error"][:26]
    "rate = '1furlong': must be"
    """
    try:
        name, texts = settings(fragment)
        view = calculator(name)
        values = view.values(**texts)
        found = {**_drawn(view.draw(**values)), "code": view.code(**values)}
    except (ValueError, ArithmeticError) as error:
        found = {"error": str(error)}
    return json.dumps(found, allow_nan=False)


def _drawn(drawing: Drawing) -> dict[str, Any]:
    """Return a drawing without animation as numbers and texts."""
    bars = None
    if drawing.bars is not None:
        given = drawing.bars
        rows = zip(given.names, _numbers(given.lengths), given.texts, strict=True)
        bars = {"title": given.title, "x": given.x, "rows": [list(row) for row in rows]}
    table = None
    if drawing.table is not None:
        given_table = drawing.table
        texts = [list(row) for row in given_table.rows]
        table = {
            "heading": list(given_table.heading),
            "rows": texts,
            "numbers": given_table.numbers,
        }
    charts = [*map(_charted, drawing.charts)]
    return {"finding": drawing.finding, "charts": charts, "bars": bars, "table": table}


def _charted(chart: Chart) -> dict[str, Any]:
    lines = [
        {
            "label": line.label, "x": _numbers(line.x), "y": _numbers(line.y),
            "marked": line.marked, "joined": line.joined,
        }
        for line in chart.lines
    ]  # fmt: skip
    return {"title": chart.title, "x": chart.x, "y": chart.y, "lines": lines, "logarithmic": chart.logarithmic}  # fmt: skip


def _numbers(array: NDArray[np.float64]) -> list[float | None]:
    return [float(each) if math.isfinite(each) else None for each in array]
