"""Display of results: a short aligned table as text, and as HTML with a plot."""

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
"""Okabe and Ito's colour-blind-safe palette; black last."""


def table_text(title: str, rows: Mapping[str, object]) -> str:
    """Return a title and aligned ``name  value`` lines.

    >>> print(table_text("Run", {"status": "converged", "step": "0.1 ms"}))
    Run
      status  converged
      step    0.1 ms
    """
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

    In IPython and notebooks it is a pyplot figure, shown below the cell; elsewhere it is not
    registered with pyplot, so that it need not be closed.
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
    """Return a figure as an ``<img>`` element with embedded data and alternative text.

    A pyplot figure is closed, so that a notebook does not show it twice.
    """
    buffer = io.BytesIO()
    fig.savefig(buffer, format="png", dpi=dpi, metadata={"Software": None})
    if (pyplot := sys.modules.get("matplotlib.pyplot")) is not None:
        pyplot.close(fig)
    code = base64.b64encode(buffer.getvalue()).decode()
    return f'<img alt="{html.escape(alt, quote=True)}" src="data:image/png;base64,{code}">'


class Result:
    """Base class of results: subclasses define ``summary``, the table, and ``plot``."""

    def summary(self) -> dict[str, object]:
        """Return the rows of the result's table, by name."""
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
