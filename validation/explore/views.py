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


def fraction(name: str, text: str, low: float, high: float) -> float:
    """Return a fraction within two limits, from a string such as ``140 %`` or ``1.4``.

    Raises
    ------
    ValueError
        For other text, and for a fraction outside of the limits.
    """
    percent = text.strip().removesuffix("%")
    try:
        found = float(percent) / (1.0 if percent == text.strip() else 100.0)
    except ValueError:
        raise ValueError(f"{name} = {text!r}: must be a percentage, such as 50 %") from None
    if not low <= found <= high:
        raise ValueError(f"{name} = {text!r}: must be from {low:.4g} to {high:.4g}, or in %")
    return found


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
    free
        Value of any other text, where the page has a text field for it; None: the options are all there is.
    lines
        Whether the text has several lines.
    """

    name: str
    label: str
    options: Mapping[str, Any]
    start: str
    slider: bool = True
    free: Callable[[str], Any] | None = None
    lines: bool = False

    def __post_init__(self) -> None:
        choice(f"start of {self.name}", self.start, self.options)

    def value(self, text: str) -> Any:
        """Return the value of a text.

        Raises
        ------
        ValueError
            For a text that is neither an option nor allowed by ``free``.
        """
        if self.free is None or text in self.options:
            return self.options[choice(self.label, text, self.options)]
        return self.free(text)


@dataclass(frozen=True, eq=False)
class Line:
    """A curve of a chart: label, and points of shape (points,); ``marked`` draws the points, ``joined`` lines between them."""

    label: str
    x: Floats
    y: Floats
    marked: bool = False
    joined: bool = True


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


@dataclass(frozen=True)
class Table:
    """Texts in rows below a heading; ``numbers`` is how many columns from the left have numbers."""

    heading: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: int = 0


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
    """What the knobs give: a finding in one sentence, charts, and an animation, bars and a table or none."""

    finding: str
    charts: tuple[Chart, ...]
    frames: Frames | None = None
    bars: Bars | None = None
    table: Table | None = None


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
            For a text that its knob does not allow.
        """
        return {knob.name: knob.value(texts.get(knob.name, knob.start)) for knob in self.knobs}
