"""Pages in a browser and in a notebook: knobs move curves and code, by mouse and keyboard, wide and narrow."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tests.validation.explore.conftest import MISSING, ROOT, in_a_browser, opened
from validation.explore import VIEWS, serve, show

# The pages in a browser: knobs move curves and code, by mouse and keyboard, wide and narrow.


@pytest.mark.skipif("bokeh" not in MISSING, reason="Bokeh is installed")
@pytest.mark.parametrize(
    "use", [lambda: serve(browser=False), lambda: show("tcp")], ids=["serve", "show"]
)
def test_without_bokeh_the_extra_is_named(use: Any) -> None:
    with pytest.raises(ImportError, match=r"pip install 'hopflow\[explore\]'"):
        use()


@pytest.mark.parametrize("name", ["threshhold", 3], ids=repr)
def test_an_unknown_page(name: Any) -> None:
    with pytest.raises(
        ValueError, match=r"view = .*: must be one of 'threshold', 'dfc', 'tcp', 'headroom'"
    ):
        serve(name, browser=False)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Serve the pages in a process of their own."""
    command = [sys.executable, "-m", "validation", "explore", "--no-browser"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        yield server.stdout.readline().split()[0].rpartition("/")[0]
        server.terminate()


@pytest.mark.browser
@in_a_browser
@pytest.mark.parametrize("width", [390, 1280], ids=["phone", "desktop"])
@pytest.mark.parametrize("name", [view.name for view in VIEWS])
def test_a_page_fits_and_has_no_errors(chromium: Any, address: str, name: str, width: int) -> None:
    page, errors = opened(chromium, f"{address}/{name}", width)
    (view,) = (view for view in VIEWS if view.name == name)
    assert page.locator("h1").inner_text() == view.question
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("canvas").count() >= 2
    assert page.locator("pre").inner_text() == view.code(**view.values())
    for link in page.locator("nav a").all():
        assert link.get_attribute("href") in {each.name for each in VIEWS}
    assert errors == []
    page.close()


@pytest.mark.browser
@in_a_browser
def test_a_list_changes_curves_and_code(chromium: Any, address: str) -> None:
    page, errors = opened(chromium, f"{address}/tcp", 1280)
    before = page.locator("p[role=status]").inner_text()
    page.locator("select").first.select_option("HSTCP")
    page.wait_for_function("before => !document.body.innerText.includes(before)", arg=before)
    (view,) = (view for view in VIEWS if view.name == "tcp")
    values = view.values(first="HSTCP")
    page.get_by_text(view.draw(**values).finding).wait_for()
    assert page.locator("pre").inner_text() == view.code(**values)
    assert errors == []
    page.close()


@pytest.mark.browser
@in_a_browser
def test_an_arrow_key_moves_a_slider(chromium: Any, address: str) -> None:
    page, errors = opened(chromium, f"{address}/tcp", 390)
    (view,) = (view for view in VIEWS if view.name == "tcp")
    first = next(knob for knob in view.knobs if knob.slider)
    page.get_by_role("slider", name=first.label).focus()
    page.keyboard.press("ArrowRight")
    page.get_by_text('"bandwidth", "50Mbps"').wait_for()
    assert page.get_by_role("slider").count() == sum(knob.slider for knob in view.knobs)
    page.get_by_role("region", name="Python").focus()
    assert errors == []
    page.close()


@pytest.mark.browser
@in_a_browser
def test_the_animation_plays_and_stops(chromium: Any, address: str) -> None:
    page, errors = opened(chromium, f"{address}/dfc", 1280)
    title = page.locator(".bk-slider-title").last
    before = title.inner_text()
    page.get_by_role("button", name="Play").click()
    moved = "([title, before]) => title.innerText != before"
    page.wait_for_function(moved, arg=[title.element_handle(), before])
    page.get_by_role("button", name="Pause").click()
    page.get_by_role("button", name="Play").wait_for()
    page.wait_for_timeout(300)
    stopped = title.inner_text()
    page.wait_for_timeout(500)
    assert title.inner_text() == stopped
    assert errors == []
    page.close()


@pytest.mark.browser
@in_a_browser
def test_a_dark_scheme_darkens_the_page(chromium: Any, address: str) -> None:
    from io import BytesIO

    from PIL import Image

    shades = []
    for scheme in ("light", "dark"):
        page, _ = opened(chromium, f"{address}/threshold", 390, scheme)
        picture = Image.open(BytesIO(page.screenshot(full_page=True))).convert("L")
        shades.append(sum(picture.tobytes()) / (picture.width * picture.height))
        page.close()
    assert shades[0] > 200.0
    assert shades[1] < 60.0


# A view in a notebook: a real kernel, and a page of another port.


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
