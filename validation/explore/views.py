"""What a view is made of: knobs, and the curves that they move; nothing here draws."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hopflow.checks import choice

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["Bars", "Chart", "Drawing", "Frames", "Knob", "Line", "View"]


@dataclass(frozen=True)
class Knob:
    """A value to choose: texts on the page, and what each means.

    Parameters
    ----------
    name, label
        Name of the parameter, and what the page calls it.
    options
        Values by their texts, in order.
    start
        Text of the first value.
    slider
        Whether the options are on a scale; otherwise they are a list.
    """

    name: str
    label: str
    options: Mapping[str, Any]
    start: str
    slider: bool = True

    def __post_init__(self) -> None:
        choice(f"start of {self.name}", self.start, self.options)


@dataclass(frozen=True, eq=False)
class Line:
    """A curve of a chart: label, and points of shape (points,); ``marked`` draws the points too."""

    label: str
    x: Floats
    y: Floats
    marked: bool = False


@dataclass(frozen=True, eq=False)
class Chart:
    """Curves on one pair of axes."""

    title: str
    x: str
    y: str
    lines: tuple[Line, ...]
    logarithmic: bool = False


@dataclass(frozen=True, eq=False)
class Bars:
    """A horizontal bar for each name, from top to bottom.

    Attributes
    ----------
    title, x
        Headings of the chart and of its axis.
    names
        The same for all values of the knobs.
    lengths
        Shape (names,).
    texts
        What is written at the ends of the bars.
    """

    title: str
    x: str
    names: tuple[str, ...]
    lengths: Floats
    texts: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Frames:
    """An animation: bars side by side at each place.

    Attributes
    ----------
    title, x, y
        Of the axes.
    labels
        Of the series.
    times
        Shape (frames,), in s.
    heights
        Shape (series, places, frames).
    """

    title: str
    x: str
    y: str
    labels: tuple[str, ...]
    times: Floats
    heights: Floats


@dataclass(frozen=True, eq=False)
class Drawing:
    """What the knobs give: a finding in one sentence, charts, and an animation and bars or none."""

    finding: str
    charts: tuple[Chart, ...]
    frames: Frames | None = None
    bars: Bars | None = None


@dataclass(frozen=True)
class View:
    """A page: its question, its knobs, what they give, and the code that gives it.

    Parameters
    ----------
    name
        In addresses and on the command line.
    title, question
        Headings of the page.
    about
        What is modelled, and how long a change takes, in one or two sentences.
    knobs
        See `Knob`.
    draw
        The `Drawing` of the knobs' values.
    code
        Python that prints the same numbers, with the knobs' texts in it.
    """

    name: str
    title: str
    question: str
    about: str
    knobs: tuple[Knob, ...]
    draw: Callable[..., Drawing]
    code: Callable[..., str]

    def values(self, **texts: str) -> dict[str, Any]:
        """Return the values of all knobs, from texts of some; the others stay where they start.

        Raises
        ------
        ValueError
            For a text that is no option of its knob.
        """
        found = {}
        for knob in self.knobs:
            text = texts.get(knob.name, knob.start)
            found[knob.name] = knob.options[choice(knob.label, text, knob.options)]
        return found
