"""The pages in a browser: knobs move curves and code, by mouse and keyboard, wide and narrow."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.validation.explore.conftest import MISSING, ROOT, in_a_browser, opened
from validation.explore import VIEWS, serve, show


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
