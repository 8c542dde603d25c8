"""The system's Chromium, for tests of pages."""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]
MISSING = [name for name in ("bokeh", "playwright") if importlib.util.find_spec(name) is None]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
NO_BROWSER = ", ".join([*MISSING, *([] if CHROMIUM else ["Chromium"])])
IDLE = "window.Bokeh && Bokeh.documents.length && Bokeh.documents[0].is_idle"
in_a_browser = pytest.mark.skipif(bool(NO_BROWSER), reason=f"not installed: {NO_BROWSER}")


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Start the system's Chromium, with a folder of its own for crash reports."""
    from playwright.sync_api import sync_playwright

    settings = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path_factory.mktemp("settings"))}
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"], env=settings)
        yield browser
        browser.close()


def opened(chromium: Any, address: str, width: int, scheme: str = "light", ready: str = IDLE) -> tuple[Any, list[str]]:
    """Return a page that is ready, and a list to which its errors are added."""
    page = chromium.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.set_default_timeout(300_000)  # events are waited for; this only ends a page that hangs
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
    page.goto(address)
    page.wait_for_function(ready)
    return page, errors
