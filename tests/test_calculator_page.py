"""The page of calculators: its archive, its forms, and what it answers in Chromium.

Set ``HOPFLOW_PYODIDE_FOLDER`` to a folder with a release of Pyodide, NumPy and SciPy for the test that runs the archive in the browser.
"""

from __future__ import annotations

import functools
import http.server
import importlib.util
import json
import os
import shutil
import threading
import zipfile
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from validation.explore.calculators import CALCULATORS, address, answer, calculator

ROOT = Path(__file__).resolve().parents[1]
SPEC = importlib.util.spec_from_file_location(
    "calculator_page", ROOT / "docs" / "calculator_page.py"
)
calculator_page = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(calculator_page)
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
NO_BROWSER = not (CHROMIUM and importlib.util.find_spec("playwright"))
FOLDER = os.environ.get("HOPFLOW_PYODIDE_FOLDER")
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
    assert (tmp_path / "again.zip").read_bytes() == (
        page / "calculators" / "hopflow.zip"
    ).read_bytes()
    names = zipfile.ZipFile(tmp_path / "again.zip").namelist()
    assert {"hopflow/__init__.pyi", "validation/explore/calculators.py", "lazy_loader/__init__.py", "LICENSE"} <= set(names)  # fmt: skip
    assert not [
        name for name in names if "__pycache__" in name or name.startswith("validation/data")
    ]
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


def test_pyodide_is_taken_from_the_named_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """The system's Chromium."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


def opened(browser: Any, address: str, width: int = 1100) -> tuple[Any, list[str]]:
    """Return a page that has answered, and a list of its errors."""
    tab = browser.new_page(viewport={"width": width, "height": 900})
    tab.set_default_timeout(300_000)
    errors: list[str] = []
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
    tab.goto(address)
    answered(tab)
    return tab, errors


def answered(tab: Any) -> None:
    """Wait for the answer to the last question."""
    tab.wait_for_function("document.body.dataset.answered === String(asked)")


in_a_browser = pytest.mark.skipif(NO_BROWSER, reason="needs Playwright and Chromium")


@pytest.mark.browser
@in_a_browser
def test_settings_go_from_the_address_to_the_form_and_back(browser: Any, site: str) -> None:
    tab, errors = opened(browser, site + "#headroom?rate=25Gbps&cable=37m", width=390)
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
    assert tab.url.partition("#")[2].replace("%2C", ",") == address("headroom", rate="25Gbps", cable="111m").replace("%2C", ",")  # fmt: skip
    assert tab.inner_text("#finding") == json.loads(answer("headroom?rate=25Gbps&cable=111m"))["finding"]  # fmt: skip
    again, more = opened(browser, tab.url)
    assert again.inner_text("#finding") == tab.inner_text("#finding")
    assert errors == more == []


@pytest.mark.browser
@in_a_browser
def test_a_pasted_table_is_audited_and_kept_in_the_address(browser: Any, site: str) -> None:
    tab, errors = opened(browser, site + "#audit", width=390)
    assert tab.evaluate("document.documentElement.scrollWidth") <= 390
    field = tab.locator("form[data-view=audit] textarea")
    field.fill("speed,cable,xoff\n400000,300m,225280\n100000,2000m,98304")
    tab.locator("form[data-view=audit] button").click()
    answered(tab)
    rows = [row.split("\t") for row in tab.inner_text("#table").splitlines()]
    assert [row[:3] for row in rows[1:]] == [["400G", "300", "225,280"], ["100G", "2000", "98,304"]]
    assert rows[2][4] == "impossible"
    again, more = opened(browser, tab.url)
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
def test_bad_settings_are_said_on_the_page(browser: Any, site: str, fragment: str, message: str) -> None:  # fmt: skip
    tab, errors = opened(browser, f"{site}#{fragment}")
    assert tab.inner_text("#error").startswith(message)
    assert tab.is_hidden("#answer")
    assert errors == []


@pytest.mark.browser
@in_a_browser
@pytest.mark.skipif(not FOLDER, reason="HOPFLOW_PYODIDE_FOLDER names no release of Pyodide")
@pytest.mark.parametrize("fragment", [
    "headroom?cable=37m", "audit", "credits?cable=37m", "pool?ports=4", "threshold?buffer=6",
])  # fmt: skip
def test_the_archive_answers_in_pyodide(browser: Any, page: Path, site: str, fragment: str) -> None:
    """The same findings, charts and code as in this process."""
    assert FOLDER is not None
    link = page / "release"
    if not link.exists():
        link.symlink_to(FOLDER)
        calculator_page.write_page(page / "real", "../release/")
    tab, errors = opened(browser, f"{site.replace('calculators', 'real')}#{fragment}")
    assert errors == []
    expected = json.loads(answer(fragment))
    assert tab.inner_text("#finding") == expected["finding"]
    assert tab.inner_text("#code").strip() == expected["code"].strip()
    bars = 1 if expected["bars"] else 0
    assert tab.locator("#charts svg").count() == len(expected["charts"]) + bars
