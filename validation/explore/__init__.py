"""Pages with knobs: curves that follow sliders, with the Python that makes them.

``hopflow explore`` opens them in a browser; `show` draws one in a notebook. A view is one file: its
knobs, a function that computes a `Drawing`, and the same as code to copy. Add its module to `MODULES`.

>>> from validation.explore import VIEWS
>>> [view.name for view in VIEWS]
['threshold', 'dfc', 'tcp', 'headroom', 'audit', 'credits', 'pool']
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from validation.explore.views import View

    VIEWS: tuple[View, ...]

__all__ = ["VIEWS", "serve", "show"]

MODULES = (
    "pause_threshold", "diffusion", "winning_tcp", "port_headroom", "table_audit", "link_credits", "shared_pool",
)  # fmt: skip


def _views() -> tuple[View, ...]:
    """Return the views, whose models are imported on first use: a calculator needs its own only."""
    return tuple(import_module(f"{__name__}.{module}").VIEW for module in MODULES)


def __getattr__(name: str) -> tuple[View, ...]:
    if name != "VIEWS":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _views()


def serve(name: str | None = None, *, port: int = 0, browser: bool = True, json: bool = False) -> None:
    """Serve the pages on this machine until interrupted; see `validation.explore.pages.serve_views`.

    Raises
    ------
    ImportError
        Without Bokeh, which the extra ``explore`` installs.
    """
    from validation.explore.pages import serve_views

    serve_views(_views(), name, port=port, browser=browser, json=json)


def show(name: str, notebook: str | None = None) -> None:
    """Draw a view with its knobs below a notebook's cell; the browser must run on the kernel's machine.

    Parameters
    ----------
    name
        Of a view.
    notebook
        ``"host:port"`` of the notebook's page; None: that of any Jupyter server of this machine.

    Raises
    ------
    ValueError
        For an unknown name, or a page without a port.
    RuntimeError
        Outside of a notebook.
    ImportError
        Without Bokeh, which the extra ``explore`` installs.
    """
    from validation.explore.notebooks import show_view

    show_view(_views(), name, notebook)
