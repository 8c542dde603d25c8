"""The pages: knobs of a view in Bokeh above its charts, and a server for them on this machine."""

from __future__ import annotations

import re
import webbrowser
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from hopflow.checks import choice, integer
from hopflow.console.command_line import as_json
from validation.explore.charts import Animation, BarChart, LineChart, TextTable

if TYPE_CHECKING:
    from validation.explore.views import Drawing, Knob, View

HOSTS = "127.0.0.1", "localhost"
"""Names of this machine that requests may give; the servers are bound to the first."""


def check_bokeh() -> None:
    """Raise an ImportError that names the extra where Bokeh is not installed."""
    try:
        import bokeh  # noqa: F401
    except ImportError as error:
        message = "explore needs Bokeh: pip install 'hopflow[explore]'"
        raise ImportError(message) from error


class ViewPage:
    """A view on a page: its widgets, and what they update."""

    def __init__(self, view: View) -> None:
        from bokeh.layouts import column, row
        from bokeh.models import Div, PreText

        self.view = view
        self.texts = {knob.name: knob.start for knob in view.knobs}
        self.knobs = [self._widget(knob) for knob in view.knobs]
        self.finding = Div(sizing_mode="stretch_width", stylesheets=[FINDING])
        self.code = PreText(sizing_mode="stretch_width", stylesheets=[CODE])
        drawing = self._drawing()
        self.charts = [LineChart(chart) for chart in drawing.charts]
        self.bars = None if drawing.bars is None else BarChart(drawing.bars)
        self.table = None if drawing.table is None else TextTable(drawing.table)
        self.animation = None if drawing.frames is None else Animation(drawing.frames)
        charts = _wrapped("22rem", *(each.figure for each in (self.bars, *self.charts) if each))
        parts = [_wrapped("15rem", *self.knobs), self.finding, charts]
        if self.table is not None:
            parts.append(self.table.figure)
        if self.animation is not None:
            player = row(self.animation.player, self.animation.when, sizing_mode="stretch_width")
            parts += [self.animation.figure, player]
        heading = Div(text="<h2>The Python that makes it</h2>", stylesheets=[HEADING])
        self.layout = column(*parts, heading, self.code, sizing_mode="stretch_width")
        self._say(drawing)

    def _widget(self, knob: Knob) -> Any:
        from bokeh.models import CategoricalSlider, Select, TextAreaInput

        options = list(knob.options)
        common: dict[str, Any] = {"title": knob.label, "value": knob.start, "name": knob.name}
        common |= {"sizing_mode": "stretch_width", "min_width": 200, "stylesheets": [KNOB]}
        if knob.slider:
            widget = CategoricalSlider(categories=options, **common)
        elif knob.lines:
            widget = TextAreaInput(rows=8, max_length=None, **common)
        else:
            widget = Select(options=options, **common)
        widget.on_change("value", lambda _attribute, _old, new: self._turn(knob.name, new))
        return widget

    def _drawing(self) -> Drawing:
        return self.view.draw(**self.view.values(**self.texts))

    def _turn(self, name: str, text: str) -> None:
        before = self.texts[name]
        self.texts[name] = text
        try:
            drawing = self._drawing()
        except ValueError as error:  # of a text that was typed: the page stays as it was
            self.texts[name] = before
            self.finding.text = Markup("<p role='alert'>{}</p>").format(error)
            return
        for chart, given in zip(self.charts, drawing.charts, strict=True):
            chart.update(given)
        if self.bars is not None and drawing.bars is not None:
            self.bars.update(drawing.bars)
        if self.table is not None and drawing.table is not None:
            self.table.update(drawing.table)
        if self.animation is not None and drawing.frames is not None:
            self.animation.update(drawing.frames)
        self._say(drawing)

    def _say(self, drawing: Drawing) -> None:
        self.finding.text = Markup("<p role='status'>{}</p>").format(drawing.finding)
        self.code.text = self.view.code(**self.view.values(**self.texts))


FONT = 'font: 16px/1.5 system-ui, "Segoe UI", Roboto, "Helvetica Neue", sans-serif'
FINDING = f":host {{ {FONT}; font-weight: 600 }} p {{ margin: .8rem 0 }}"
HEADING = f":host {{ {FONT} }} h2 {{ font-size: 1.15rem; margin: 1.4rem 0 .2rem }}"
CODE = """
:host { overflow-x: auto; background: #f3f5f8; color: #1b1f24; padding: .6rem .9rem; box-sizing: border-box }
pre { font-size: 13px; line-height: 1.5; margin: 0 }
"""
KNOB = f"""
:host {{ {FONT}; font-size: 14px }} .bk-slider-title, label {{ font-size: 14px }}
.bk-input {{ font-size: 15px; height: 2.4rem; color: #1b1f24 }} .noUi-handle:focus {{ outline: 2px solid #0b57a4 }}
"""


def _wrapped(least: str, *children: Any) -> Any:
    """Return a grid whose columns are ``least`` wide at least: below each other on a phone."""
    from bokeh.layouts import column

    columns = f"repeat(auto-fit, minmax(min(100%, {least}), 1fr))"
    grid = {"display": "grid", "grid-template-columns": columns, "gap": "0.7rem 1.8rem"}
    return column(*children, sizing_mode="stretch_width", styles=grid)


def document_of(view: View, views: Sequence[View], doc: Any) -> None:
    """Fill a Bokeh document with the page of a view."""
    from jinja2 import Environment, FileSystemLoader

    folder = Path(__file__).with_name("templates")
    doc.template = Environment(loader=FileSystemLoader(folder), autoescape=True).get_template("page.html")
    doc.template_variables.update(view=view, views=views)
    doc.title = f"{view.title} - hopflow"
    doc.add_root(ViewPage(view).layout)


def server_of(views: Sequence[View], *, port: int = 0) -> Any:
    """Return a Bokeh server of the pages on this machine, not yet started; port 0 takes a free one."""
    check_bokeh()
    from bokeh.application import Application
    from bokeh.application.handlers.function import FunctionHandler
    from bokeh.server.server import Server

    port = integer("port", port, 0, 65535)

    def application(view: View) -> Any:
        return Application(FunctionHandler(lambda doc: document_of(view, views, doc)))

    pages = {f"/{view.name}": application(view) for view in views}
    server = Server({"/": application(views[0]), **pages}, port=port, address="127.0.0.1")
    refuse_other_hosts(server)
    return server


def refuse_other_hosts(server: Any) -> None:
    """Let a Bokeh server answer only requests whose Host is 127.0.0.1 or localhost, with any port; others get 403.

    A browser that a stranger's name server has sent to this machine names the stranger's host (DNS rebinding).
    """
    from tornado.web import ErrorHandler

    others = rf"(?!({'|'.join(map(re.escape, HOSTS))})$).*$"
    server._tornado.add_handlers(others, [(r".*", ErrorHandler, {"status_code": 403})])


def serve_views(
    views: Sequence[View],
    name: str | None = None,
    *,
    port: int = 0,
    browser: bool = True,
    json: bool = False,
) -> None:
    """Serve the pages until Ctrl-C, and open one in a browser.

    Parameters
    ----------
    views
        The pages.
    name
        Of the page to open; None is the first.
    port
        On this machine; 0 takes a free one.
    browser
        Whether to open a browser.
    json
        Whether the addresses of all pages are printed as JSON, instead of that of one.

    Raises
    ------
    ValueError
        For an unknown name, or a port that is in use.
    ImportError
        Without Bokeh.
    """
    names = [view.name for view in views]
    first = names[0] if name is None else choice("view", name, names)
    try:
        server = server_of(views, port=port)
    except OSError as error:
        raise ValueError(f"port = {port}: cannot be used ({error.strerror})") from None
    server.start()
    addresses = {each: f"http://127.0.0.1:{server.port}/{each}" for each in names}
    address = addresses[first]
    said = as_json({"view": first, "addresses": addresses}) if json else f"{address}  (Ctrl-C ends)"
    print(said, flush=True)  # noqa: T201
    if browser:
        webbrowser.open(address)
    try:
        server.io_loop.start()
    except KeyboardInterrupt:
        server.stop()
