"""Pages with knobs: curves that follow sliders, with the Python that makes them.

``hopflow explore`` opens them in a browser; `show` draws one in a notebook. A view is one file: its
knobs, a function that computes a `Drawing`, and the same as code to copy. Add it to `VIEWS`.

>>> from validation.explore import VIEWS
>>> [view.name for view in VIEWS]
['threshold', 'dfc', 'tcp', 'headroom']
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from validation.explore import diffusion, pause_threshold, port_headroom, winning_tcp

if TYPE_CHECKING:
    from validation.explore.views import View

__all__ = ["VIEWS", "serve", "show"]

VIEWS: tuple[View, ...] = (
    pause_threshold.VIEW,
    diffusion.VIEW,
    winning_tcp.VIEW,
    port_headroom.VIEW,
)


def serve(name: str | None = None, *, port: int = 0, browser: bool = True) -> None:
    """Serve the pages on this machine until interrupted; see `validation.explore.pages.serve_views`.

    Raises
    ------
    ImportError
        Without Bokeh, which the extra ``explore`` installs.
    """
    from validation.explore.pages import serve_views

    serve_views(VIEWS, name, port=port, browser=browser)


def show(name: str) -> Any:
    """Draw a view with its knobs in a notebook.

    Raises
    ------
    ValueError
        For an unknown name.
    ImportError
        Without Bokeh, which the extra ``explore`` installs.
    """
    from validation.explore.pages import show_view

    return show_view(VIEWS, name)
