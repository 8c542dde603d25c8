"""Pages in a browser and in a notebook: knobs move curves and code, by mouse and keyboard, wide and narrow; the page of calculators."""

from __future__ import annotations

import functools
import http.client
import http.server
import importlib.util
import json
import os
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from html.parser import HTMLParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.surface import HANG
from tests.validation.explore.conftest import MISSING, ROOT, in_a_browser, opened
from validation.explore import VIEWS, calculators, serve, show
from validation.explore.calculators import CALCULATORS, answer, calculator

# The pages in a browser: knobs move curves and code, by mouse and keyboard, wide and narrow.


@pytest.mark.skipif("bokeh" not in MISSING, reason="Bokeh is installed")
@pytest.mark.parametrize("use", [lambda: serve(browser=False), lambda: show("tcp")], ids=["serve", "show"])
def test_without_bokeh_the_extra_is_named(use: Any) -> None:
    with pytest.raises(ImportError, match=r"pip install 'hopflow\[explore\]'"):
        use()


@pytest.mark.parametrize("name", ["threshhold", 3], ids=repr)
def test_an_unknown_page(name: Any) -> None:
    with pytest.raises(ValueError, match=r"view = .*: must be one of 'threshold', 'dfc', 'tcp', 'headroom'"):
        serve(name, browser=False)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Serve the pages in a process of their own."""
    command = [sys.executable, "-m", "validation", "explore", "--no-browser"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        yield server.stdout.readline().split()[0].rpartition("/")[0]
        server.terminate()


@pytest.mark.skipif("bokeh" in MISSING, reason="needs hopflow[explore]")
def test_pages_answer_only_to_names_of_this_machine(address: str) -> None:
    """By DNS rebinding a page of a stranger reaches the server with the stranger's Host, and an Origin that agrees with it."""
    place = urlsplit(address)
    assert place.hostname is not None
    upgrade = {
        "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
    }  # fmt: skip
    ours = ["127.0.0.1", f"127.0.0.1:{place.port}", f"localhost:{place.port}", "LocalHost:8888"]
    others = ["evil.example", f"evil.example:{place.port}", f"127.0.0.1.evil.example:{place.port}", "notlocalhost", f"[::1]:{place.port}", "10.0.0.1"]  # fmt: skip
    answers = {}
    for host in (*ours, *others):
        for path, more in (("/dfc", {}), ("/static/js/bokeh.min.js", {}), ("/dfc/ws", upgrade)):
            connection = http.client.HTTPConnection(place.hostname, place.port, timeout=HANG)
            connection.request("GET", path, headers={"Host": host, "Origin": f"http://{host}", **more})  # fmt: skip
            answers[host, path] = connection.getresponse().status
            connection.close()
    assert {status for (host, _), status in answers.items() if host in others} == {403}
    assert {status for (host, path), status in answers.items() if host in ours and path != "/dfc/ws"} == {200}  # fmt: skip


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
            client.execute_interactive(cell, output_hook=heard, timeout=HANG)
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
    page.wait_for_function("Bokeh.documents.length == 2 && Bokeh.documents.every(one => one.is_idle)")
    page.locator("select").first.select_option("HSTCP")
    page.get_by_text("import HSTCP, NewReno").wait_for()
    assert [said for said in errors if "404" not in said] == []  # no favicon
    page.close()


# The page of calculators: its archive, its forms, and what it answers in Chromium.

SPEC = importlib.util.spec_from_file_location("calculator_page", ROOT / "docs" / "calculator_page.py")
calculator_page = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(calculator_page)
FOLDER = os.environ.get("HOPFLOW_PYODIDE_FOLDER")
"""Of a release of Pyodide, NumPy and SciPy: the archive is run in the browser."""
IN_CPYTHON = """
"use strict";
async function loadPyodide() {
  let fragment = "";
  return {
    unpackArchive(bytes) { if (new Uint8Array(bytes)[0] !== 80) throw new Error("not an archive"); },
    async loadPackage(names) {},
    globals: { set(name, value) { fragment = value; } },
    runPython(code) {
      if (code.startsWith("import sys")) return;
      const request = new XMLHttpRequest();
      request.open("GET", "/answer?" + new URLSearchParams({ fragment }), false);
      request.send();
      return request.responseText;
    },
  };
}
"""
"""Takes Pyodide's place: the server answers, with the Python of this process."""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the page and a stand-in for Pyodide, or a link to a release."""
    folder = tmp_path_factory.mktemp("site")
    calculator_page.write_page(folder / "calculators", "../pyodide/")
    (folder / "pyodide").mkdir()
    (folder / "pyodide" / "pyodide.js").write_text(IN_CPYTHON)
    return folder


def test_the_archive_is_the_same_each_time_and_complete(page: Path, tmp_path: Path) -> None:
    calculator_page.write_archive(tmp_path / "again.zip")
    assert (tmp_path / "again.zip").read_bytes() == (page / "calculators" / "hopflow.zip").read_bytes()
    names = zipfile.ZipFile(tmp_path / "again.zip").namelist()
    assert {"hopflow/__init__.pyi", "validation/explore/calculators.py", "LICENSE"} <= set(names)  # fmt: skip
    assert not [name for name in names if "__pycache__" in name or name.startswith("validation/data")]
    assert (tmp_path / "again.zip").stat().st_size < 2.5e6, "it is loaded with the page"


class Fields(HTMLParser):
    """The fields of each form with the texts that they offer."""

    def __init__(self) -> None:
        super().__init__()
        self.forms: dict[str, list[str]] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "form":
            self.fields = self.forms.setdefault(str(given["data-view"]), [])
        elif tag in ("input", "select", "textarea"):
            self.fields.append(str(given["name"]))


def test_the_page_has_a_field_for_each_setting(page: Path) -> None:
    fields = Fields()
    fields.feed((page / "calculators" / "index.html").read_text())
    assert fields.forms == {name: [knob.name for knob in calculator(name).knobs] for name in CALCULATORS}  # fmt: skip


def test_pyodide_is_taken_from_the_named_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOPFLOW_PYODIDE", "../own")
    calculator_page.write_page(tmp_path)
    assert 'data-pyodide="../own/"' in (tmp_path / "index.html").read_text()
    monkeypatch.delenv("HOPFLOW_PYODIDE")
    calculator_page.write_page(tmp_path)
    assert f'data-pyodide="{calculator_page.PYODIDE}"' in (tmp_path / "index.html").read_text()


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves files, and answers of the calculators."""

    def do_GET(self) -> None:
        split = urlsplit(self.path)
        if split.path != "/answer":
            return super().do_GET()
        body = answer(parse_qs(split.query)["fragment"][0]).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        return None

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing."""


@pytest.fixture(scope="module")
def site(page: Path) -> Iterator[str]:
    """Serve the page on this machine; its address."""
    handler = functools.partial(Handler, directory=str(page))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/calculators/index.html"
        server.shutdown()
        thread.join()


def opened_calculator(chromium: Any, address: str, width: int = 1100) -> tuple[Any, list[str]]:
    """Return a page that has answered, and a list of its errors."""
    tab, errors = opened(chromium, address, width, ready="true")
    answered(tab)
    return tab, errors


def answered(tab: Any) -> None:
    """Wait for the answer to the last question."""
    tab.wait_for_function("document.body.dataset.answered === String(asked)")


@pytest.mark.browser
@in_a_browser
def test_settings_go_from_the_address_to_the_form_and_back(chromium: Any, site: str) -> None:
    tab, errors = opened_calculator(chromium, site + "#headroom?rate=25Gbps&cable=37m", width=390)
    expected = json.loads(answer("headroom?rate=25Gbps&cable=37m"))
    assert tab.inner_text("#finding") == expected["finding"]
    assert tab.inner_text("#code").strip() == expected["code"].strip()
    assert tab.locator("#charts svg").count() == 2
    assert tab.evaluate("document.documentElement.scrollWidth") <= 390
    cable = tab.locator("form[data-view=headroom] input[name=cable]")
    assert cable.input_value() == "37m"
    cable.fill("111m")
    cable.press("Enter")
    answered(tab)
    assert tab.url.partition("#")[2].replace("%2C", ",") == calculators.address("headroom", rate="25Gbps", cable="111m").replace("%2C", ",")  # fmt: skip
    assert tab.inner_text("#finding") == json.loads(answer("headroom?rate=25Gbps&cable=111m"))["finding"]  # fmt: skip
    again, more = opened_calculator(chromium, tab.url)
    assert again.inner_text("#finding") == tab.inner_text("#finding")
    assert errors == more == []


@pytest.mark.browser
@in_a_browser
def test_a_pasted_table_is_audited_and_kept_in_the_address(chromium: Any, site: str) -> None:
    tab, errors = opened_calculator(chromium, site + "#audit", width=390)
    assert tab.evaluate("document.documentElement.scrollWidth") <= 390
    field = tab.locator("form[data-view=audit] textarea")
    field.fill("speed,cable,xoff\n400000,300m,225280\n100000,2000m,98304")
    tab.locator("form[data-view=audit] button").click()
    answered(tab)
    rows = [row.split("\t") for row in tab.inner_text("#table").splitlines()]
    assert [row[:3] for row in rows[1:]] == [["400G", "300", "225,280"], ["100G", "2000", "98,304"]]
    assert rows[2][4] == "impossible"
    again, more = opened_calculator(chromium, tab.url)
    assert again.inner_text("#finding") == tab.inner_text("#finding")
    assert errors == more == []


@pytest.mark.browser
@in_a_browser
@pytest.mark.parametrize(
    ("fragment", "message"),
    [
        ("headroom?cable=3parsec", "cable = '3parsec'"),
        ("headroom?length=3m", "setting = 'length'"),
        ("headroom?small=some", "Frames that may be small = 'some'"),
        ("nothing", "calculator = 'nothing'"),
    ],
)
def test_bad_settings_are_said_on_the_page(chromium: Any, site: str, fragment: str, message: str) -> None:  # fmt: skip
    tab, errors = opened_calculator(chromium, f"{site}#{fragment}")
    assert tab.inner_text("#error").startswith(message)
    assert tab.is_hidden("#answer")
    assert errors == []


@pytest.mark.browser
@in_a_browser
@pytest.mark.skipif(not FOLDER, reason="HOPFLOW_PYODIDE_FOLDER names no release of Pyodide")
@pytest.mark.parametrize("fragment", [
    "headroom?cable=37m", "audit", "credits?cable=37m", "pool?ports=4", "threshold?buffer=6",
])  # fmt: skip
def test_the_archive_answers_in_pyodide(chromium: Any, page: Path, site: str, fragment: str):
    """The same findings, charts and code as in this process."""
    assert FOLDER is not None
    link = page / "release"
    if not link.exists():
        link.symlink_to(FOLDER)
        calculator_page.write_page(page / "real", "../release/")
    tab, errors = opened_calculator(chromium, f"{site.replace('calculators', 'real')}#{fragment}")
    assert errors == []
    expected = json.loads(answer(fragment))
    assert tab.inner_text("#finding") == expected["finding"]
    assert tab.inner_text("#code").strip() == expected["code"].strip()
    bars = 1 if expected["bars"] else 0
    assert tab.locator("#charts svg").count() == len(expected["charts"]) + bars
