"""The pages: knobs and charts of a view in Bokeh, and a server for them on this machine."""

from __future__ import annotations

import html
import webbrowser
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hopflow.checks import choice, whole

if TYPE_CHECKING:
    from validation.explore.views import Bars, Chart, Drawing, Frames, Knob, View

__all__ = ["ViewPage", "check_bokeh", "document_of", "serve_views", "server_of"]

COLOURS = ("#0072b2", "#d55e00", "#009e73")
"""Of Okabe and Ito, which colour-blind readers tell apart."""
MILLISECONDS = 100
"""Of a frame of an animation."""
HEIGHT = 300


def check_bokeh() -> None:
    """Raise an ImportError that names the extra where Bokeh is not installed."""
    try:
        import bokeh  # noqa: F401
    except ImportError as error:
        message = "explore needs Bokeh: pip install 'hopflow[explore]'"
        raise ImportError(message) from error


def _figure(title: str, x: str, y: str, *, logarithmic: bool = False, **ranges: Any) -> Any:
    from bokeh.plotting import figure

    scale = "log" if logarithmic else "linear"
    axes = {} if ranges else {"x_axis_type": scale, "y_axis_type": scale}
    found = figure(
        title=title, x_axis_label=x, y_axis_label=y, height=HEIGHT, sizing_mode="stretch_width",
        tools="pan,box_zoom,reset,save", min_width=240, frame_align=False, **axes, **ranges,
    )  # fmt: skip
    found.toolbar.logo = None
    found.toolbar.autohide = True
    for text in (found.title, *found.axis):
        for name in ("text_font_size", "axis_label_text_font_size", "major_label_text_font_size"):
            if hasattr(text, name):
                setattr(text, name, "13px")
    found.axis.axis_label_text_font_style = "normal"
    return found


def _legend(items: list[Any]) -> Any:
    from bokeh.models import Legend

    return Legend(
        items=items, orientation="horizontal", location="left", spacing=14, padding=0,
        border_line_color=None, label_text_font_size="13px", glyph_width=26,
    )  # fmt: skip


class _Lines:
    """A chart whose curves are replaced in place."""

    def __init__(self, chart: Chart) -> None:
        from bokeh.models import ColumnDataSource

        self.figure = _figure(chart.title, chart.x, chart.y, logarithmic=chart.logarithmic)
        self.sources, self.items = [], []
        for line, colour, dash in zip(
            chart.lines, COLOURS, ("solid", "dashed", "dotted"), strict=False
        ):
            source = ColumnDataSource(_points(line))
            drawn = [
                self.figure.line(
                    "x", "y", source=source, color=colour, line_width=2.5, line_dash=dash
                )
            ]
            if line.marked:
                drawn.append(self.figure.scatter("x", "y", source=source, color=colour, size=8))
            self.sources.append(source)
            self.items.append((line.label, drawn))
        self.legend = _legend(self.items)
        if len(chart.lines) > 1:
            self.figure.add_layout(self.legend, "below")

    def update(self, chart: Chart) -> None:
        """Show other curves."""
        for source, line in zip(self.sources, chart.lines, strict=True):
            source.data = _points(line)
        for item, line in zip(self.legend.items, chart.lines, strict=True):
            item.label = {"value": line.label}


def _points(line: Any) -> dict[str, Any]:
    return {"x": np.asarray(line.x, dtype=float), "y": np.asarray(line.y, dtype=float)}


class _Bars:
    """A chart whose bars are replaced in place."""

    def __init__(self, chart: Bars) -> None:
        from bokeh.models import ColumnDataSource

        self.figure = _figure(chart.title, chart.x, "", y_range=list(reversed(chart.names)))
        self.figure.ygrid.visible = False
        self.source = ColumnDataSource()
        self.figure.hbar("names", right="lengths", height=0.7, source=self.source, color=COLOURS[0])
        self.figure.text(
            "ends", "names", "texts", source=self.source, x_offset=4, text_baseline="middle",
            text_font_size="12px",
        )  # fmt: skip
        self.update(chart)

    def update(self, chart: Bars) -> None:
        """Show other bars, with room for their texts."""
        lengths = np.asarray(chart.lengths, dtype=float)
        self.source.data = {
            "names": list(chart.names), "lengths": lengths, "ends": np.maximum(lengths, 0.0),
            "texts": list(chart.texts),
        }  # fmt: skip
        self.figure.x_range.update(
            start=min(0.0, 1.1 * float(lengths.min())), end=1.4 * float(lengths.max())
        )


class _Animation:
    """Bars side by side at each node; the browser turns the frames, without the server."""

    def __init__(self, frames: Frames) -> None:
        from bokeh.models import ColumnDataSource, CustomJS, Slider, Toggle

        self.figure = _figure(frames.title, frames.x, frames.y)
        self.figure.y_range.start = 0
        self.sources = [ColumnDataSource() for _ in frames.labels]
        self.items = []
        width = 0.8 / len(frames.labels)
        for n, source in enumerate(self.sources):
            bars = self.figure.vbar("x", width, "now", source=source, color=COLOURS[n])
            self.items.append((frames.labels[n], [bars]))
        self.legend = _legend(self.items)
        self.figure.add_layout(self.legend, "below")
        self.when = Slider(start=0, end=len(frames.times) - 1, value=0, step=1, title="frame",
                           sizing_mode="stretch_width", show_value=False, min_width=160)  # fmt: skip
        self.player = Toggle(label="Play", width=90)
        self.clock = ColumnDataSource({"time": frames.times})
        self.update(frames)
        show = CustomJS(
            args={"sources": self.sources, "clock": self.clock},
            code="""
            const n = cb_obj.value
            for (const source of sources) {
              source.data = {...source.data, now: Array.from(source.data.all, column => column[n])}
            }
            cb_obj.title = `at ${clock.data.time[n].toFixed(2)} s`
            """,
        )
        self.when.js_on_change("value", show)
        self.player.js_on_change(
            "active", CustomJS(args={"when": self.when, "ms": MILLISECONDS}, code=PLAY)
        )

    def update(self, frames: Frames) -> None:
        """Show other frames."""
        count = len(frames.labels)
        first = int(np.argmax(frames.heights.sum(axis=(0, 1))))  # where most is seen
        places = np.arange(1, frames.heights.shape[1] + 1)
        for n, source in enumerate(self.sources):
            heights = frames.heights[n]
            x = places + (n - (count - 1) / 2.0) * 0.8 / count
            source.data = {"x": x, "now": heights[:, first], "all": heights.tolist()}
            self.legend.items[n].label = {"value": frames.labels[n]}
        self.figure.y_range.end = 1.05 * max(1.0, float(frames.heights.max()))
        self.clock.data = {"time": frames.times}
        self.when.update(value=first, title=f"at {frames.times[first]:.2f} s")


PLAY = """
if (cb_obj.active) {
  cb_obj.label = "Pause"
  cb_obj.tags = [setInterval(() => { when.value = (when.value + 1) % (when.end + 1) }, ms)]
} else {
  cb_obj.label = "Play"
  clearInterval(cb_obj.tags[0])
}
"""


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
        self.charts = [_Lines(chart) for chart in drawing.charts]
        self.bars = None if drawing.bars is None else _Bars(drawing.bars)
        self.animation = None if drawing.frames is None else _Animation(drawing.frames)
        parts = [
            _wrapped("15rem", *self.knobs),
            self.finding,
            _wrapped("22rem", *(each.figure for each in (self.bars, *self.charts) if each)),
        ]
        if self.animation is not None:
            player = row(self.animation.player, self.animation.when, sizing_mode="stretch_width")
            parts += [self.animation.figure, player]
        heading = Div(text="<h2>The Python that makes it</h2>", stylesheets=[HEADING])
        self.layout = column(*parts, heading, self.code, sizing_mode="stretch_width")
        self._say(drawing)

    def _widget(self, knob: Knob) -> Any:
        from bokeh.models import CategoricalSlider, Select

        options = list(knob.options)
        common: dict[str, Any] = {"title": knob.label, "value": knob.start, "name": knob.name}
        common |= {"sizing_mode": "stretch_width", "min_width": 200, "stylesheets": [KNOB]}
        if knob.slider:
            widget = CategoricalSlider(categories=options, **common)
        else:
            widget = Select(options=options, **common)
        widget.on_change("value", lambda _attribute, _old, new: self._turn(knob.name, new))
        return widget

    def _drawing(self) -> Drawing:
        return self.view.draw(**self.view.values(**self.texts))

    def _turn(self, name: str, text: str) -> None:
        self.texts[name] = text
        drawing = self._drawing()
        for chart, given in zip(self.charts, drawing.charts, strict=True):
            chart.update(given)
        if self.bars is not None and drawing.bars is not None:
            self.bars.update(drawing.bars)
        if self.animation is not None and drawing.frames is not None:
            self.animation.update(drawing.frames)
        self._say(drawing)

    def _say(self, drawing: Drawing) -> None:
        self.finding.text = f"<p role='status'>{html.escape(drawing.finding)}</p>"
        self.code.text = self.view.code(**self.view.values(**self.texts))


FONT = 'font: 16px/1.5 system-ui, "Segoe UI", Roboto, "Helvetica Neue", sans-serif'
FINDING = f":host {{ {FONT}; font-weight: 600 }} p {{ margin: .8rem 0 }}"
HEADING = f":host {{ {FONT} }} h2 {{ font-size: 1.15rem; margin: 1.4rem 0 .2rem }}"
CODE = """
:host { overflow-x: auto; background: #f3f5f8; padding: .6rem .9rem; box-sizing: border-box }
pre { font-size: 13px; line-height: 1.5; margin: 0 }
"""
KNOB = f"""
:host {{ {FONT}; font-size: 14px }} .bk-slider-title, label {{ font-size: 14px }}
.bk-input {{ font-size: 15px; height: 2.4rem }} .noUi-handle:focus {{ outline: 2px solid #0b57a4 }}
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
    doc.template = Environment(loader=FileSystemLoader(folder), autoescape=True).get_template(
        "page.html"
    )
    doc.template_variables.update(view=view, views=views)
    doc.title = f"{view.title} - hopflow"
    doc.add_root(ViewPage(view).layout)


def server_of(views: Sequence[View], *, port: int = 0) -> Any:
    """Return a Bokeh server of the pages on this machine, not yet started; port 0 takes a free one."""
    check_bokeh()
    from bokeh.application import Application
    from bokeh.application.handlers.function import FunctionHandler
    from bokeh.server.server import Server

    port = whole("port", port, 0, 65535)

    def application(view: View) -> Any:
        return Application(FunctionHandler(lambda doc: document_of(view, views, doc)))

    pages = {f"/{view.name}": application(view) for view in views}
    return Server({"/": application(views[0]), **pages}, port=port, address="127.0.0.1")


def serve_views(
    views: Sequence[View], name: str | None = None, *, port: int = 0, browser: bool = True
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
    address = f"http://127.0.0.1:{server.port}/{first}"
    print(f"{address}  (Ctrl-C ends)", flush=True)  # noqa: T201
    if browser:
        webbrowser.open(address)
    try:
        server.io_loop.start()
    except KeyboardInterrupt:
        server.stop()
