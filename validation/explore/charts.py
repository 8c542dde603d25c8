"""The charts of a page in Bokeh: curves, bars, tables and animations whose contents are replaced in place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

if TYPE_CHECKING:
    from validation.explore.views import Bars, Chart, Frames, Table

COLOURS = ("#0072b2", "#d55e00", "#56b4e9", "#e69f00")
"""Of Okabe and Ito, which colour-blind readers tell apart."""
MILLISECONDS = 100
"""Of a frame of an animation."""
HEIGHT = 300


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

    columns = "auto" if len(items) < 4 else 2  # the width of a phone
    return Legend(
        items=items, ncols=columns, orientation="horizontal", location="left", spacing=14, padding=0,
        border_line_color=None, label_text_font_size="13px", glyph_width=26,
    )  # fmt: skip


class LineChart:
    """A chart whose curves are replaced in place."""

    def __init__(self, chart: Chart) -> None:
        from bokeh.models import ColumnDataSource

        self.figure = _figure(chart.title, chart.x, chart.y, logarithmic=chart.logarithmic)
        self.sources, self.items = [], []
        for line, colour, dash in zip(chart.lines, COLOURS, ("solid", "dashed", "dotted", "dotdash"), strict=False):
            source = ColumnDataSource(_points(line))
            drawn = []
            if line.joined:
                style = {"color": colour, "line_width": 2.5, "line_dash": dash}
                drawn.append(self.figure.line("x", "y", source=source, **style))
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


class BarChart:
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
        self.figure.x_range.update(start=min(0.0, 1.1 * float(lengths.min())), end=1.4 * float(lengths.max()))


class TextTable:
    """A table of texts whose rows are replaced in place."""

    def __init__(self, table: Table) -> None:
        from bokeh.models import Div

        self.figure = Div(sizing_mode="stretch_width", stylesheets=[TABLE])
        self.update(table)

    def update(self, table: Table) -> None:
        """Show other rows."""
        head = Markup("").join(Markup("<th>{}</th>").format(text) for text in table.heading)
        rows = Markup("").join(
            Markup("<tr>{}</tr>").format(Markup("").join(_cell(text, n < table.numbers) for n, text in enumerate(row)))
            for row in table.rows
        )  # fmt: skip
        self.figure.text = Markup("<table><tr>{}</tr>{}</table>").format(head, rows)


def _cell(text: str, number: bool) -> Markup:
    return Markup("<td{}>{}</td>").format(Markup(" class=number") if number else "", text)


TABLE = """
:host { overflow-x: auto; color: #1b1f24; font: 14px/1.4 system-ui, sans-serif }
table { border-collapse: collapse } th { text-align: left } th, td { padding: .15rem .8rem .15rem 0; vertical-align: top }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap }
"""


class Animation:
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
        self.player.js_on_change("active", CustomJS(args={"when": self.when, "ms": MILLISECONDS}, code=PLAY))

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
