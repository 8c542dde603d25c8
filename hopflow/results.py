"""Display of results: a short aligned table as text, and as HTML with a plot."""

from __future__ import annotations

import base64
import io
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from hopflow.html_tables import image_html, table_html

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Result", "figure", "png", "table_text"]

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe and Ito's colour-blind-safe palette; black last."""
_INVERTED = "{filter:invert(.91) hue-rotate(180deg)}"
_PAGES = ("[data-jp-theme-light=false]", ".vscode-dark", "[data-theme=dark]")
DARK = (
    ",".join(f"{page} .hopflow-figure" for page in _PAGES)
    + _INVERTED
    + "@media (prefers-color-scheme:dark){[data-theme=auto] .hopflow-figure"
    + _INVERTED
    + "}"
)
"""Style of figures in dark pages: white becomes dark grey, hues stay."""


def table_text(title: str, rows: Mapping[str, object]) -> str:
    """Return a title and aligned ``name  value`` lines.

    >>> print(table_text("Run", {"status": "converged", "step": "0.1 ms"}))
    Run
      status  converged
      step    0.1 ms
    """
    width = max((len(name) for name in rows), default=0)
    return "\n".join([title, *(f"  {name:<{width}}  {value}" for name, value in rows.items())])


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
    # not in the context: the first figure of a notebook switches to its backend, and that must last
    new = make(figsize=(width, height), layout="constrained")
    with mpl.rc_context({"axes.prop_cycle": cycler(color=COLOURS)}):
        axes = new.subplots(**kwargs)
    return new, axes


def png(fig: Figure, alt: str, pixels: int = 80) -> str:
    """Return a figure as an ``<img>`` element with embedded data and alternative text.

    It has ``pixels`` CSS pixels per inch, each of two by two dots, and is inverted where the page is
    dark (JupyterLab, VS Code, furo). A pyplot figure is closed, so that a notebook does not show it
    twice.
    """
    buffer = io.BytesIO()
    fig.savefig(buffer, format="png", dpi=2 * pixels, metadata={"Software": None})
    if (pyplot := sys.modules.get("matplotlib.pyplot")) is not None:
        pyplot.close(fig)
    code = base64.b64encode(buffer.getvalue()).decode()
    width = round(fig.get_figwidth() * pixels)
    return image_html(code, alt, width, "hopflow-figure", DARK)


class Result:
    """Base class of results: subclasses define ``summary``, the table, and ``plot``.

    Rows that begin as in ``FOLDED`` tell how the result was computed; notebooks fold them away.
    """

    FOLDED: ClassVar[tuple[str, ...]] = ()

    @property
    def advice(self) -> str:
        """What to try next where the status alone does not say."""
        return ""

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
        picture = png(axes.figure, f"plot of {type(self).__name__}")
        rows = self.summary()
        folded = [name for name in rows if name.strip().startswith(self.FOLDED)]
        return table_html(type(self).__name__, rows, folded) + picture
