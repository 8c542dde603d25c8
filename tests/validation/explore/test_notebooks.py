"""A view in a notebook: a real kernel, and a page of another port."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tests.validation.explore.conftest import MISSING, ROOT, in_a_browser, opened
from validation.explore import show


@pytest.mark.skipif("bokeh" in MISSING, reason="not installed: bokeh")
def test_outside_of_a_notebook_the_other_way_is_named() -> None:
    with pytest.raises(RuntimeError, match=r"in a script use serve\(\)"):
        show("tcp")
    with pytest.raises(ValueError, match=r"^notebook = 'localhost': must be \"host:port\""):
        show("tcp", "localhost")


class Page(BaseHTTPRequestHandler):
    """What a cell displayed, in a page from another port than that of the server in the kernel."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(f"<!doctype html><body>{''.join(self.server.shown)}</body>".encode())

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture
def notebook() -> Iterator[str]:
    """Run a cell in a kernel, and serve what it displays."""
    from jupyter_client.manager import start_new_kernel

    def heard(message: Any) -> None:
        content = message["content"]
        assert message["msg_type"] != "error", content
        pages.shown.append(content.get("data", {}).get("text/html", ""))

    manager, client = start_new_kernel(cwd=str(ROOT))
    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as pages:
        pages.shown = []
        threading.Thread(target=pages.serve_forever, daemon=True).start()
        address = f"localhost:{pages.server_port}"
        try:
            one, other = (f"show({name!r}, {address!r})" for name in ("tcp", "threshold"))
            cell = f"from validation.explore import show; {one}; {other}"
            client.execute_interactive(cell, output_hook=heard, timeout=120)
            yield f"http://{address}/"
        finally:
            pages.shutdown()
            client.stop_channels()
            manager.shutdown_kernel(now=True)


@pytest.mark.browser
@in_a_browser
def test_two_views_turn_their_knobs_in_a_notebook(chromium: Any, notebook: str) -> None:
    """Each has a server of its own, at a port of its own."""
    page, errors = opened(chromium, notebook, 1280)
    page.wait_for_function(
        "Bokeh.documents.length == 2 && Bokeh.documents.every(one => one.is_idle)"
    )
    page.locator("select").first.select_option("HSTCP")
    page.get_by_text("import HSTCP, NewReno").wait_for()
    assert [said for said in errors if "404" not in said] == []  # no favicon
    page.close()
