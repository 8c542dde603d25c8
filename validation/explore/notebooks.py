"""A view below a notebook's cell, drawn by a server in the kernel."""

from __future__ import annotations

import contextlib
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from hopflow.checks import choice, instance
from hopflow.results import DARK_PAGE_STYLE
from validation.explore.pages import ViewPage, check_bokeh, refuse_other_hosts

if TYPE_CHECKING:
    from validation.explore.views import View

FRAME = Markup(
    '<style>{DARK}</style><div class="hopflow-figure" style="color-scheme:light;background:#fff;color:#1b1f24;padding:.5rem">{script}</div>'
)
"""A light page, inverted where the notebook is dark, as figures of results are."""
JUPYTER = 8888
"""Jupyter's port, as long as it is free."""


def _notebooks() -> list[str]:
    """Return where the pages of Jupyter servers come from that run on this machine."""
    from jupyter_core.paths import jupyter_runtime_dir

    ports = {JUPYTER}
    for file in Path(jupyter_runtime_dir()).glob("jpserver-*.json"):
        with contextlib.suppress(OSError, ValueError, KeyError):  # one that has just ended
            ports.add(int(json.loads(file.read_text(encoding="utf-8"))["port"]))
    return [f"{host}:{port}" for host in ("localhost", "127.0.0.1") for port in sorted(ports)]


def show_view(views: Sequence[View], name: str, notebook: str | None = None) -> None:
    """Draw one of the views by its name below a notebook's cell, as `validation.explore.show` does.

    A server in the kernel draws, and answers to the notebook's page alone; kernel and browser run on one machine.
    """
    check_bokeh()
    from bokeh.embed import server_document
    from bokeh.io.notebook import publish_display_data
    from bokeh.server.server import Server

    found = {view.name: view for view in views}
    view = found[choice("view", name, list(found))]
    if notebook is not None and not re.fullmatch(r"[^:/]+:\d+", instance("notebook", notebook, str)):
        raise ValueError(f'notebook = {notebook!r}: must be "host:port", such as "localhost:8889"')
    kernel = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if not hasattr(kernel, "kernel"):
        raise RuntimeError("show draws below a notebook's cell: in a script use serve()")

    def fill(doc: Any) -> None:
        doc.add_root(ViewPage(view).layout)

    pages = _notebooks() if notebook is None else [notebook]
    server = Server({"/": fill}, address="127.0.0.1", port=0, allow_websocket_origin=pages)
    refuse_other_hosts(server)
    server.start()
    script = Markup(server_document(f"http://127.0.0.1:{server.port}/"))
    publish_display_data({"text/html": str(FRAME.format(DARK=Markup(DARK_PAGE_STYLE), script=script))})
