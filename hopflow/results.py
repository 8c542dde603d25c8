"""How results show themselves: a short aligned table as text, the same as HTML with a picture."""

from __future__ import annotations

import base64
import html
import io
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Result", "figure", "png", "table_html", "table_text"]

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe and Ito's colours, told apart by colour-blind readers; black last."""


def table_text(title: str, rows: Mapping[str, object]) -> str:
    """Return a title and aligned ``name  value`` lines."""
    width = max((len(name) for name in rows), default=0)
    return "\n".join([title, *(f"  {name:<{width}}  {value}" for name, value in rows.items())])


def table_html(title: str, rows: Mapping[str, object]) -> str:
    """Return the same table as HTML."""
    body = "".join(
        f"<tr><th style='text-align:left'>{html.escape(name)}</th>"
        f"<td style='text-align:left'>{html.escape(str(value))}</td></tr>"
        for name, value in rows.items()
    )
    return f"<table><caption>{html.escape(title)}</caption>{body}</table>"


def figure(width: float = 6.4, height: float = 3.6, **kwargs: Any) -> tuple[Figure, Any]:
    """Return a new figure and its axes, in hopflow's colours.

    In IPython and notebooks it is pyplot's, which shows it below the cell; elsewhere it is outside
    of pyplot's state, so that nothing has to be closed.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure as NewFigure
    from matplotlib.rcsetup import cycler

    make: Callable[..., Figure] = NewFigure
    shell = sys.modules.get("IPython")
    if shell is not None and shell.get_ipython() is not None:
        import matplotlib.pyplot as plt

        make = plt.figure
    with mpl.rc_context({"axes.prop_cycle": cycler(color=COLOURS)}):
        new = make(figsize=(width, height), layout="constrained")
        axes = new.subplots(**kwargs)
    return new, axes


def png(fig: Figure, alt: str, dpi: int = 110) -> str:
    """Return a figure as an ``<img>`` element that carries its own bytes and a text for the blind.

    A figure of pyplot is closed: it has been shown.
    """
    buffer = io.BytesIO()
    fig.savefig(buffer, format="png", dpi=dpi, metadata={"Software": None})
    if (pyplot := sys.modules.get("matplotlib.pyplot")) is not None:
        pyplot.close(fig)
    code = base64.b64encode(buffer.getvalue()).decode()
    return f'<img alt="{html.escape(alt, quote=True)}" src="data:image/png;base64,{code}">'


class Result:
    """Base of every result: subclasses say what their table holds and how they are drawn."""

    def summary(self) -> dict[str, object]:
        """Return what the result's table shows, by name."""
        raise NotImplementedError

    def plot(self, ax: Any = None) -> Any:
        """Draw the result; return the matplotlib Axes."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return table_text(type(self).__name__, self.summary())

    def _repr_html_(self) -> str:
        axes = self.plot()
        picture = png(axes.figure, f"plot of {type(self).__name__}", dpi=70)
        return table_html(type(self).__name__, self.summary()) + picture
