"""Results: their status, equality by value, tables as text and HTML, files, and comparisons side by side.

A result class derives from `Result` and defines ``summary``, the rows of its table, and ``plot``. A driver passes its
result to `deliver`, which raises an error that carries it if the status is not ok.
"""

from __future__ import annotations

import base64
import dataclasses
import enum
import functools
import hashlib
import importlib
import io
import math
import pickle
import re
import sys
import textwrap
import types
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, Protocol, Self, TypeVar

import numpy as np

from hopflow.checks import choice, count_of, file_path, format_value
from hopflow.fork_safety import cached_property
from hopflow.whole_files import replacing

if TYPE_CHECKING:
    import jinja2
    import pandas as pd
    import xarray as xr
    from matplotlib.figure import Figure

__all__ = [
    "ByValue",
    "ConvergenceError",
    "Described",
    "Interrupted",
    "NotSolvedError",
    "OnFailure",
    "Result",
    "SideBySide",
    "Status",
    "UndecidedError",
    "WithoutCaches",
    "deliver",
    "distinct_labels",
    "draw_waterfall",
    "figure",
    "grid_html",
    "image_html",
    "kind_for",
    "names_beside",
    "png",
    "same",
    "short_text",
    "stack_datasets",
    "state_of",
    "table_html",
    "table_text",
]

R = TypeVar("R", bound="HasStatus")
T = TypeVar("T")

# Status of a computation, and the errors that carry a partial result


OnFailure = Literal["raise", "return"]
RESULT_LOCATION = " complete, kept as `result` of this error (sys.last_value.result)"


class Status(enum.Enum):
    """Outcome of a computation; ``remedy`` is advice on what to try next.

    Among the statuses that are ``ok``, only ``CONVERGED`` guarantees a small error: if a result has
    an error bound, the bound was requested and is small enough to be useful. ``COMPLETED`` is said of
    simulations: the run went to its end, every packet is accounted for, no lossless class lost packets for want of
    room, and no packets wait for each other for ever.

    >>> from hopflow import Status
    >>> Status.CONVERGED.ok, Status.NEGATIVE.ok
    (True, False)
    >>> print(Status.NEGATIVE)
    negative entries: rounding made probabilities negative: use method=GTH()
    """

    CONVERGED = "converged", ""
    COMPLETED = "completed", ""
    SOLVED = "solved, error unknown", "the equations are met; no bound on the error was computed"
    UNPROVED = (
        "unproved",
        "the equations are met, but no useful bound on the error was found: try markov's GTH()",
    )
    INACCURATE = (
        "inaccurate",
        "the tolerance was not reached",
    )
    UNDECIDED = "undecided", "a number lies within its error of the threshold: ask for it with =?"
    NEGATIVE = "negative entries", "rounding made probabilities negative: use method=GTH()"
    NOT_FINITE = "not finite", "the result overflowed: check the magnitudes of the rates"
    NOT_MEASURED = "nothing measured", "nothing arrived in the measured time: simulate longer"
    DEADLOCKED = (
        "deadlocked",
        "links pause each other and stand still for ever: other routes (dfcmodel.lossless.up_down)",
    )
    STORM = (
        "storm",
        "a port with a fault pauses others for ever: all that waits for it stands still",
    )
    LOST_LOSSLESS = (
        "lost in a lossless class",
        "a buffer had too little room above the threshold of its pauses: give it more headroom",
    )
    UNBALANCED = "unbalanced", "more packets than float64 counts exactly: simulate a shorter time"

    def __init__(self, label: str, remedy: str) -> None:
        self.label = label
        self.remedy = remedy

    @property
    def ok(self) -> bool:
        """Whether the result may be used: the equations are met to the tolerance.

        This includes networks that deadlock, have a failed port, or lose packets of a lossless class.
        """
        return self in (
            Status.CONVERGED,
            Status.COMPLETED,
            Status.SOLVED,
            Status.UNPROVED,
            Status.DEADLOCKED,
            Status.STORM,
            Status.LOST_LOSSLESS,
        )

    def __str__(self) -> str:
        return f"{self.label}: {self.remedy}" if self.remedy else self.label


def worst(statuses: Sequence[Status]) -> Status:
    """Return the status of several runs: the first failure, else the first other than COMPLETED, else COMPLETED.

    >>> worst([Status.COMPLETED, Status.DEADLOCKED, Status.NOT_FINITE]).label
    'not finite'
    >>> worst([Status.COMPLETED, Status.LOST_LOSSLESS]).label
    'lost in a lossless class'
    """
    others = [status for status in statuses if status is not Status.COMPLETED]
    failed = [status for status in others if not status.ok]
    return next(iter([*failed, *others]), Status.COMPLETED)


def of_several(statuses: Sequence[Status]) -> str:
    """Describe the status of several runs, with the number of runs that have it.

    >>> print(of_several([Status.COMPLETED, Status.COMPLETED]))
    completed
    >>> print(of_several([Status.COMPLETED, Status.STORM]))
    storm, in 1 of 2 runs: a port with a fault pauses others for ever: all that waits for it stands still
    """
    status = worst(statuses)
    if status is Status.COMPLETED:
        return str(status)
    count = f"in {statuses.count(status)} of {count_of(len(statuses), 'run')}"
    return ": ".join(filter(None, (f"{status.label}, {count}", status.remedy)))


class NotSolvedError(ArithmeticError):
    """A computation failed; ``result`` is its partial result, with the reason in ``result.status``.

    >>> from types import SimpleNamespace
    >>> from hopflow import NotSolvedError, Status
    >>> from hopflow.results import deliver
    >>> try:
    ...     deliver(SimpleNamespace(status=Status.NOT_FINITE), "raise")
    ... except NotSolvedError as error:
    ...     print(error.result.status)
    not finite: the result overflowed: check the magnitudes of the rates
    """

    def __init__(self, result: Any) -> None:
        self.result = result
        advice = getattr(result, "advice", "")
        super().__init__(f"{type(result).__name__}: {result.status}{advice and f': {advice}'}")

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the error, so that it can be raised in another process."""
        return type(self), (self.result,)


class ConvergenceError(NotSolvedError):
    """An iteration did not reach its tolerance: it stagnated or ran out of iterations.

    Examples
    --------
    >>> from markov import PauseTandem, Power, stationary
    >>> from markov.errors import ConvergenceError
    >>> try:
    ...     stationary(PauseTandem(), Power(max_iterations=5))
    ... except ConvergenceError as error:
    ...     print(error.result.status.label)
    inaccurate
    """


class UndecidedError(NotSolvedError):
    """A property is neither true nor false: a number lies within its error of the threshold.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from markov import read_prism
    >>> from markov.errors import UndecidedError
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "light.sm")
    ...     text = "ctmc module m x : [0..1] init 0; [] x = 0 -> 3 : (x' = 1); endmodule"
    ...     _ = path.write_text(text)
    ...     model = read_prism(path)
    >>> exact = model.property("P=? [ F<=1 x=1 ]").value
    >>> try:
    ...     model.property(f"P>={exact!r} [ F<=1 x=1 ]")
    ... except UndecidedError as error:
    ...     print(error.result.value, error.result.status.label)
    None undecided
    """

    def __init__(self, result: Any) -> None:
        super().__init__(result)
        self.args = (f"{result.text}: undecided ({result.reason})",)


class Interrupted(KeyboardInterrupt):
    """Ctrl-C ended an ensemble or a sweep; ``result`` is the complete part.

    Where nothing catches it, the message is printed without a traceback; an interactive session has the error as
    ``sys.last_value``.

    Parameters
    ----------
    result
        The ensemble of the complete runs, at least two; the sweep with NaN (None for strings) where nothing is
        complete; None if the sweep has a store.
    progress
        Number of complete runs or points.
    location
        End of the message: where the complete part is.

    Examples
    --------
    >>> from hopflow import Interrupted
    >>> try:
    ...     raise Interrupted([1.5], "1 of 3 points")
    ... except KeyboardInterrupt as error:
    ...     print(error, error.result)
    1 of 3 points complete, kept as `result` of this error (sys.last_value.result) [1.5]
    """

    def __init__(self, result: Any, progress: str, location: str = RESULT_LOCATION) -> None:
        self.result = result
        super().__init__(f"{progress}{location}")
        if getattr(sys.excepthook, "func", None) is not _print_uncaught:
            sys.excepthook = functools.partial(_print_uncaught, sys.excepthook)

    def _render_traceback_(self) -> list[str]:
        """Return the lines that IPython prints."""
        return [f"hopflow.Interrupted: {self}"]


def _print_uncaught(
    previous_hook: Callable[..., Any], kind: type[BaseException], error: BaseException, trace: Any
) -> None:
    """Print an error that nothing caught; only its message if Ctrl-C ended a computation."""
    if isinstance(error, Interrupted):
        print(*error._render_traceback_(), file=sys.stderr)  # noqa: T201
    else:
        previous_hook(kind, error, trace)


class HasStatus(Protocol):
    """Argument of `deliver`."""

    @property
    def status(self) -> Status:
        """Outcome of the computation."""


def deliver(result: R, on_failure: OnFailure) -> R:
    """Return ``result``, or raise an error for a status that is not ok if ``on_failure`` says so.

    Raises
    ------
    ConvergenceError
        If the tolerance was not reached.
    UndecidedError
        If a property is neither true nor false.
    NotSolvedError
        For any other status that is not ok.
    """
    choice("on_failure", on_failure, ("raise", "return"))
    if on_failure == "raise" and not result.status.ok:
        errors = {Status.INACCURATE: ConvergenceError, Status.UNDECIDED: UndecidedError}
        raise errors.get(result.status, NotSolvedError)(result)
    return result


# Equality by value


class WithoutCaches:
    """Base class of objects that are pickled and copied without cached properties, which hold solvers and figures."""

    def __getstate__(self) -> dict[str, Any]:
        kind: Any = type(self)
        cached = _cache_names(kind)
        return {name: value for name, value in vars(self).items() if name not in cached}


@functools.lru_cache(maxsize=512)
def _cache_names(kind: Any) -> frozenset[str]:
    """Return the names of the cached properties of a class."""
    members: dict[str, Any] = {}
    for base in reversed(kind.__mro__):
        members.update(vars(base))
    cached = functools.cached_property
    return frozenset(name for name, value in members.items() if isinstance(value, cached))


class ByValue(WithoutCaches):
    """Base class of objects that are equal if their fields are equal, except `NOT_COMPARED`."""

    NOT_COMPARED: ClassVar[tuple[str, ...]] = ("seconds", "memory")
    """Fields in which equal objects may differ."""

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        without = self.NOT_COMPARED
        return self is other or same(state_of(self, without), state_of(other, without))

    def __hash__(self) -> int:
        return hash(type(self))


def same(one: Any, other: Any) -> bool:
    """Return whether two values are equal: arrays entry by entry, NaN equal to NaN.

    Functions are equal if code, defaults and enclosed values are.

    >>> same({"a": np.array([1.0, np.nan])}, {"a": np.array([1.0, np.nan])}), same(1, 2)
    (True, False)
    """
    if one is other:
        return True
    if isinstance(one, (np.ndarray, np.generic)) or isinstance(other, (np.ndarray, np.generic)):
        return _same_arrays(np.asarray(one), np.asarray(other))
    if type(one) is not type(other):
        numbers = isinstance(one, (int, float)) and isinstance(other, (int, float))
        return (numbers or _are_columns(one, other)) and bool(one == other)
    if isinstance(one, float):
        return one == other or (math.isnan(one) and math.isnan(other))
    if isinstance(one, Mapping):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    kind: Any = type(one)
    if kind.__eq__ in (list.__eq__, tuple.__eq__):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, types.FunctionType):
        return _same_functions(one, other)
    if isinstance(one, functools.partial):
        return same((one.func, one.args, one.keywords), (other.func, other.args, other.keywords))
    for name in ("identical", "equals"):  # of xarray, of pandas
        if hasattr(one, name):
            return bool(getattr(one, name)(other))
    if hasattr(one, "tocsr") and hasattr(one, "nnz"):
        return one.shape == other.shape and _same_sparse(one.tocsr(), other.tocsr())
    if dataclasses.is_dataclass(one) and not isinstance(one, ByValue):
        return same(state_of(one, ()), state_of(other, ()))
    if kind.__eq__ is object.__eq__:
        return hasattr(one, "__dict__") and same(state_of(one, ()), state_of(other, ()))
    return bool(one == other)


def state_of(value: object, without: Collection[str]) -> dict[str, Any]:
    """Return the fields, or the attributes, of an object by name, except ``without`` and cached properties."""
    if dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value)]
    else:
        kind: Any = type(value)
        cached = _cache_names(kind)
        names = [name for name in vars(value) if name not in cached]
    return {name: getattr(value, name) for name in names if name not in without}


def _are_columns(one: Any, other: Any) -> bool:
    """Return whether one is a tuple and the other another kind of sequence, such as columns, which may equal it."""
    kinds = {type(one), type(other)}
    builtin = [kind for kind in kinds if issubclass(kind, (tuple, list, str, bytes))]
    return builtin == [tuple] and all(issubclass(kind, Sequence) for kind in kinds)


def _same_arrays(one: Any, other: Any) -> bool:
    if one.shape != other.shape:
        return False
    if one.dtype.names:
        return one.dtype == other.dtype and all(_same_arrays(one[name], other[name]) for name in one.dtype.names)
    if one.dtype.kind in "fc" and other.dtype.kind in "fciub":
        return bool(np.array_equal(one, other, equal_nan=True))
    if one.dtype.kind == "O":
        return all(map(same, one.ravel().tolist(), other.ravel().tolist()))
    return bool(np.array_equal(one, other))


def _same_sparse(one: Any, other: Any) -> bool:
    return all(_same_arrays(getattr(one, n), getattr(other, n)) for n in ("indptr", "indices", "data"))


def _same_functions(one: types.FunctionType, other: types.FunctionType) -> bool:
    cells = [[cell.cell_contents for cell in function.__closure__ or ()] for function in (one, other)]
    return one.__code__ == other.__code__ and same(one.__defaults__, other.__defaults__) and same(*cells)


# HTML tables, from one template that escapes its arguments


TEMPLATES = {
    "table": """\
{%- macro rows(lines) -%}
{%- for line in lines -%}
<tr><th scope='row' style='text-align:left'>{{ line[0] }}</th>
{%- for cell in line[1:] %}<td style='text-align:left'>{{ cell }}</td>{% endfor -%}
</tr>
{%- endfor -%}
{%- endmacro -%}
<table>{% if caption %}<caption>{{ caption }}</caption>{% endif %}
{%- if head %}<tr>{% for cell in head %}<th scope='col' style='text-align:left'>{{ cell }}</th>{% endfor %}</tr>\
{% endif %}
{{- rows(shown) }}</table>
{%- if folded %}<details><summary>how it was computed</summary>\
<table>{{ rows(folded) }}</table></details>{% endif %}""",
    "image": """\
<style>{{ style | safe }}</style>\
<img class="{{ name }}" alt="{{ alt }}" width="{{ width }}" src="data:image/png;base64,{{ code }}">""",
}


def table_html(title: str, rows: Mapping[str, object], folded: Collection[str] = ()) -> str:
    """Return a table of names and values as HTML.

    Rows named in ``folded`` are in a collapsed section.

    >>> table_html("Run", {"p < 1": 2})  # doctest: +NORMALIZE_WHITESPACE
    "<table><caption>Run</caption><tr><th scope='row' style='text-align:left'>p &lt; 1</th><td
    style='text-align:left'>2</td></tr></table>"
    """
    shown = [(name, value) for name, value in rows.items() if name not in folded]
    hidden = [(name, value) for name, value in rows.items() if name in folded]
    return _render("table", caption=title, head=(), shown=shown, folded=hidden)


def grid_html(caption: str, head: Sequence[object], rows: Iterable[Sequence[object]]) -> str:
    """Return an HTML table whose first row and first column are headings; an empty caption is omitted.

    Cells of type `markupsafe.Markup` are inserted as HTML; all others are escaped.

    >>> "<th scope='col' style='text-align:left'>a</th>" in grid_html("", ["", "a"], [["n", 1]])
    True
    """
    return _render("table", caption=caption, head=head, shown=rows, folded=())


def image_html(code: str, alt: str, width: int, name: str, style: str) -> str:
    """Return an ``<img>`` element of CSS class ``name`` with base64 data, preceded by the style of the class."""
    return _render("image", code=code, alt=alt, width=width, name=name, style=style)


def _render(template: str, **values: object) -> str:
    return _template_environment().get_template(template).render(values)


@functools.cache
def _template_environment() -> jinja2.Environment:
    import jinja2

    loader = jinja2.DictLoader(TEMPLATES)
    return jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined)


# Results


FILE_HEADER = b"hopflow result 2\n"
"""Header of a result file with the format version; the SHA-256 of the pickle follows, then the pickle."""
OLD_FILE_HEADER = b"hopflow result 1\n"
"""Header of the format without a checksum."""
MAX_TABLE_ROWS = 10**7
"""Maximum number of rows of a table."""
MAX_LINE_VALUE = 130
"""Maximum number of characters of a value in one line."""
LONG_NUMBER = re.compile(r"(?<!\d)\d+\.\d{15,}(?:e[-+]?\d+)?")
LONG_ROW = re.compile(r"([(\[])((?:[-+.\w]+, ){11,}[-+.\w]+),?([)\]])")
"""At least twelve numbers in brackets."""

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe and Ito's colour-blind-safe palette; black last."""
FURTHER_COLOURS = (
    *("#882255", "#117733", "#332288", "#AA4499", "#999933", "#661100", "#888888"),
    *("#44AA99", "#DDCC77", "#6699CC", "#A6761D", "#7570B3", "#A6CE39", "#E7298A"),
)
"""Colours of the 8th to 21st line of a plot, mostly of Tol's palettes."""
DECORATION = "_decoration"
"""Label of lines in a figure that show no data."""
UNEXPLAINED = "unexplained"
"""Name of the part of a difference that no contribution explains."""
_INVERT_STYLE = "{filter:invert(.91) hue-rotate(180deg)}"
_DARK_SELECTORS = ("[data-jp-theme-light=false]", ".vscode-dark", "[data-theme=dark]")
DARK_PAGE_STYLE = (
    ",".join(f"{page} .hopflow-figure" for page in _DARK_SELECTORS)
    + _INVERT_STYLE
    + "@media (prefers-color-scheme:dark){[data-theme=auto] .hopflow-figure"
    + _INVERT_STYLE
    + "}"
)
"""Style of figures in dark pages: white becomes dark grey, hues stay."""


def table_text(title: str, rows: Mapping[str, object]) -> str:
    """Return a title and aligned ``name  value`` lines; values longer than `MAX_LINE_VALUE` continue below.

    >>> print(table_text("Run", {"status": "converged", "step": "0.1 ms"}))
    Run
      status  converged
      step    0.1 ms
    """
    width = max((len(name) for name in rows), default=0)
    lines = [title]
    for name, value in rows.items():
        text = str(value)
        if len(text) > MAX_LINE_VALUE and "\n" not in text:
            text = f"\n{'':{width + 4}}".join(textwrap.wrap(text, MAX_LINE_VALUE, break_long_words=False))
        lines.append(f"  {name:<{width}}  {text}")
    return "\n".join(lines)


def short_text(value: object) -> str:
    """Return the repr of a model for a table: numbers with at most 15 digits, and of long rows of numbers the ends.

    >>> short_text({"rate": 200 * 1e-6, "rates": tuple(range(20))})
    "{'rate': 0.0002, 'rates': (0, 1, 2, ..., 19: 20 numbers)}"
    """
    text = LONG_NUMBER.sub(lambda match: f"{float(match[0]):.15g}", repr(value))
    return LONG_ROW.sub(_shorten_row, text)


def _shorten_row(match: re.Match[str]) -> str:
    """Return the first three numbers of a row, the last one, and how many there are, in the brackets of the row."""
    numbers = match[2].split(", ")
    return f"{match[1]}{', '.join(numbers[:3])}, ..., {numbers[-1]}: {len(numbers)} numbers{match[3]}"


def figure(width: float = 6.4, height: float = 3.6, **kwargs: Any) -> tuple[Figure, Any]:
    """Return a new figure and its axes, in hopflow's colours; the first 21 lines differ in colour.

    In IPython and notebooks it is a pyplot figure, shown below the cell; elsewhere it is not
    registered with pyplot, so that it need not be closed.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure as NewFigure
    from matplotlib.rcsetup import cycler

    make: Callable[..., Figure] = NewFigure
    shell = sys.modules.get("IPython")
    if shell is not None and shell.get_ipython() is not None:
        import matplotlib.pyplot as plt

        make = plt.figure
    # outside the context: the first figure of a notebook switches the backend, and that must last
    new = make(figsize=(width, height), layout="constrained")
    with mpl.rc_context({"axes.prop_cycle": cycler(color=COLOURS + FURTHER_COLOURS)}):
        axes = new.subplots(**kwargs)
    return new, axes


def draw_waterfall(data: xr.Dataset, ax: Any = None) -> Any:
    """Draw the waterfall of one quantity, on ``ax`` or on new axes, and return the Axes.

    Parameters
    ----------
    data
        Result of `dfcmodel.results.Explanation.to_xarray` for one quantity; bars are in the order of its parts.
    """
    names, parts = data["part"].to_numpy().tolist(), data["contribution"].to_numpy()
    if ax is None:
        ax = figure(6.4, 0.8 + 0.32 * (len(names) + 2))[1]
    colours = ["0.6" if name == UNEXPLAINED else COLOURS[0] for name in names]
    levels = data["start"].to_numpy()[0] + np.cumsum([0.0, *parts[:, 0]])
    rows = np.arange(1, len(parts) + 1)
    ax.barh(rows, parts[:, 0], left=levels[:-1], color=colours, height=0.6)
    half = parts[:, 2] - parts[:, 0]
    ax.errorbar(levels[1:], rows, xerr=half, fmt="none", ecolor="black", capsize=2)
    for row, name in ((0, "start"), (len(parts) + 1, "packets")):
        mean, low, *_ = data[name].to_numpy()
        ax.barh(row, mean, color=COLOURS[2], height=0.6)
        ax.errorbar(mean, row, xerr=mean - low, fmt="none", ecolor="black", capsize=2)
    for row, level in enumerate(levels):  # from the end of each bar to the next
        ax.plot([level, level], [row, row + 1], color="0.4", lw=0.6, label=DECORATION)
    ax.set_yticks(np.arange(len(parts) + 2), [data.attrs["start"], *names, "packets"])
    ax.invert_yaxis()
    name, units = data["quantity"].item(), data["units"].item()
    label = name if units in ("", "1") else f"{name} ({units})"
    ax.set(xlabel=label, title=f"{data.attrs['scenario']}, {data.attrs['runs']} runs")
    ax.margins(x=0.08)
    return ax


def png(fig: Figure, alt: str, pixels: int = 80) -> str:
    """Return a figure as an ``<img>`` element with embedded data and alternative text.

    It has ``pixels`` CSS pixels per inch, each of two by two dots, and is inverted where the page is
    dark (JupyterLab, VS Code, furo). A pyplot figure is closed, so that a notebook does not show it
    twice.
    """
    buffer = io.BytesIO()
    fig.savefig(buffer, format="png", dpi=2 * pixels, metadata={"Software": None})
    if (pyplot := sys.modules.get("matplotlib.pyplot")) is not None:
        pyplot.close(fig)
    code = base64.b64encode(buffer.getvalue()).decode()
    width = round(fig.get_figwidth() * pixels)
    return image_html(code, alt, width, "hopflow-figure", DARK_PAGE_STYLE)


class Described:
    """Base class of models that notebooks show as a table of fields; subclasses may override ``summary``."""

    def summary(self) -> dict[str, object]:
        """Return the rows of the table, by name."""
        return {name: format_value(value) for name, value in state_of(self, ()).items()}

    def _repr_html_(self) -> str:
        return table_html(type(self).__name__, self.summary())


class Result(ByValue):
    """Base class of results: subclasses define ``summary``, the table, and ``plot``.

    Every result has ``summary``, ``plot``, ``to_xarray``, ``to_pandas``, ``save`` and ``load``. Notebooks show it as a
    table. Results are compared by value, and can be pickled and copied. Rows with a prefix in ``FOLDED`` describe the
    computation. Notebooks collapse them.
    """

    FOLDED: ClassVar[tuple[str, ...]] = ()
    DIMENSIONS: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    """Dimensions of array fields; the default is named after the field, and holds for a single field alone."""
    ROW_DIMENSIONS: ClassVar[tuple[str, ...]] = ()
    """Dimensions of the rows of `to_pandas`, which leaves out fields along other ones; (): all dimensions."""
    FIELD_UNITS: ClassVar[Mapping[str, str]] = {}
    """Units by field."""
    COMPARED_BY: ClassVar[str] = ""
    """Class that compares such results, ``"module:name"``, imported at first use; "": none."""

    @property
    def advice(self) -> str:
        """Advice beyond that of the status."""
        return ""

    def summary(self) -> dict[str, object]:
        """Return the rows of the result's table, by name."""
        raise NotImplementedError

    def plot(self, ax: Any = None) -> Any:
        """Draw the result; return the matplotlib Axes.

        ``result.plot().figure.savefig("plot.pdf")`` saves the picture. Outside of notebooks the figure is
        not pyplot's current one, so that ``plt.savefig`` would save an empty one.
        """
        raise NotImplementedError

    def to_xarray(self) -> xr.Dataset:
        """Return the numbers and arrays of the result as a Dataset, with ``units`` attributes where they have one."""
        import xarray as xr

        variables = {}
        for name, value in state_of(self, ()).items():
            array = np.asarray(value) if isinstance(value, (int, float, str, np.ndarray)) else None
            if array is None or array.dtype.kind == "O" or name.startswith("_"):
                continue
            dims = self.DIMENSIONS.get(name, ())
            if len(dims) != array.ndim:
                dims = tuple(f"{name}_{axis}" for axis in range(array.ndim))
            attrs = {"units": self.FIELD_UNITS[name]} if name in self.FIELD_UNITS else {}
            variables[name] = dims, array, attrs
        return xr.Dataset(variables)

    def to_pandas(self) -> pd.DataFrame:
        """Return the Dataset of `to_xarray` as a table, with a row for each combination of coordinates.

        Arrays along a dimension of their own, such as the limits of groups beside the transfers in them, are left out.

        Raises
        ------
        ValueError
            If the table would have more than `MAX_TABLE_ROWS` rows.
        """
        data = self.to_xarray()
        if self.ROW_DIMENSIONS:
            data = data.drop_dims(set(data.dims) - set(self.ROW_DIMENSIONS))
        rows = math.prod(data.sizes.values())
        if rows > MAX_TABLE_ROWS:
            limit = f"more than {MAX_TABLE_ROWS:.0e}; take a variable of to_xarray()"
            raise ValueError(f"to_pandas: the table has {rows:.1e} rows, {limit}")
        if not data.sizes:
            data = data.expand_dims("result")
        return data.to_dataframe()

    def save(self, path: str | Path) -> Path:
        """Write the result to a file, which `load` reads; return its path.

        The file is a checksum and a pickle of the whole result. `load` only files that you trust, since a pickle can
        run code. An existing file is replaced atomically: it stays intact after an error, a kill or a power failure.

        Raises
        ------
        OSError
            If the file cannot be written, for example on a full disk.
        """
        path = file_path("path", path)
        content = pickle.dumps(self, protocol=5)
        with replacing(path) as scratch, scratch.open("wb") as file:
            file.writelines((FILE_HEADER, hashlib.sha256(content).digest(), content))
        return path

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a result that `save` wrote; the checksum is verified before unpickling.

        Raises
        ------
        ValueError
            For a file without a result, a damaged file, a result of another class, or a missing class, such as one
            defined in a script.
        """
        path = file_path("path", path)
        prefix = f"path = {str(path)!r}:"
        with path.open("rb") as file:
            head = file.read(len(FILE_HEADER))
            if head == OLD_FILE_HEADER:
                raise ValueError(f"{prefix} has no checksum, as an older version wrote it: save it again")
            if head != FILE_HEADER:
                raise ValueError(f"{prefix} holds no result of hopflow")
            digest, content = file.read(hashlib.sha256().digest_size), file.read()
        if hashlib.sha256(content).digest() != digest:
            raise ValueError(f"{prefix} is damaged: its content has another checksum")
        try:
            result = pickle.loads(content)
        except Exception as error:  # a class that is gone or has changed can raise anything
            cause = f"{type(error).__name__}: {error}"
            raise ValueError(f"{prefix} was saved by other code than is installed ({cause})") from error
        if not isinstance(result, cls):
            kind = type(result).__name__
            raise ValueError(f"{prefix} holds a {kind}, not a {cls.__name__}")  # noqa: TRY004
        return result

    def __repr__(self) -> str:
        return table_text(type(self).__name__, self.summary())

    def _repr_html_(self) -> str:
        axes = self.plot()
        picture = png(axes.figure, f"plot of {type(self).__name__}")
        rows = self.summary()
        return table_html(type(self).__name__, rows, self.folded(rows)) + picture

    def folded(self, rows: Mapping[str, object]) -> list[str]:
        """Return the names of those ``rows`` of the table that describe the computation, by ``FOLDED``."""
        return [name for name in rows if name.strip().startswith(self.FOLDED)]


# Results side by side


EMPTY_CELL = "-"
"""Cell of a column that lacks the row."""


@dataclass(frozen=True, repr=False, eq=False)
class SideBySide(Result, Generic[T]):
    """Base of comparisons of results of one kind: subclasses define ``columns``, ``names_of`` and ``plot``.

    Attributes
    ----------
    compared
        Two or more results by label, in the order of the columns.
    """

    CALLED: ClassVar[str]
    """Plural of the kind of result, for messages."""
    compared: Mapping[str, T]

    @classmethod
    def of(cls, results: Sequence[T], labelled: Mapping[str, T]) -> SideBySide[T]:
        """Compare results: first ``results``, which get labels, then ``labelled``.

        Raises
        ------
        ValueError
            For fewer than two results.
        """
        count = len(results) + len(labelled)
        if count < 2:
            raise ValueError(f"number of {cls.CALLED} = {count}: must be at least 2")
        names = distinct_labels(cls.names_of(results), labelled)
        return cls({**dict(zip(names, results, strict=True)), **labelled})

    @staticmethod
    def names_of(results: Sequence[T]) -> list[str]:
        """Return a name for each of the results."""
        raise NotImplementedError

    @cached_property
    def columns(self) -> dict[str, dict[str, str]]:
        """The rows of each column, by label and by name."""
        raise NotImplementedError

    def summary(self) -> dict[str, object]:
        """Return the rows of the table by name, each a dictionary from labels to cells."""
        names = dict.fromkeys(name for column in self.columns.values() for name in column)
        return {name: {label: rows.get(name, EMPTY_CELL) for label, rows in self.columns.items()} for name in names}

    def _table(self) -> list[list[str]]:
        rows: dict[str, Any] = self.summary()
        return [["", *self.columns], *([name, *cells.values()] for name, cells in rows.items())]

    def __repr__(self) -> str:
        table = self._table()
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = (
            "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in table
        )
        return "\n".join([type(self).__name__, *(f"  {line}" for line in lines)])

    def _repr_html_(self) -> str:
        picture = png(self.plot().figure, f"plot of {type(self).__name__}")
        head, *rows = self._table()
        return grid_html(type(self).__name__, head, rows) + picture


def kind_for(result: object) -> type[SideBySide[Any]] | None:
    """Return the class that compares results of this kind; None if there is none.

    >>> from dfcmodel import simulate, takano2006
    >>> kind_for(simulate(takano2006("1"), duration=0.01)).CALLED
    'runs'
    """
    reference = result.COMPARED_BY if isinstance(result, Result) else ""
    if not reference:
        return None
    module, _, name = reference.partition(":")
    cls: type[SideBySide[Any]] = getattr(importlib.import_module(module), name)
    return cls


def distinct_labels(names: Sequence[str], reserved: Mapping[str, object]) -> list[str]:
    """Return distinct labels: duplicate or taken names get a number.

    >>> distinct_labels(["a", "a", "b", "c"], {"c": 1})
    ['a (1)', 'a (2)', 'b', 'c (1)']
    """
    labels: list[str] = []
    for n, name in enumerate(names):
        number, label = names[:n].count(name) + 1, name
        while label in reserved or label in labels or (label == name and names.count(name) > 1):
            label, number = f"{name} ({number})", number + 1
        labels.append(label)
    return labels


def names_beside(names: Iterable[str], taken: Collection[str], kind: str) -> dict[str, str]:
    """Return the name that each of a user's ``names`` has beside ``taken`` names of a result, by the user's name.

    It is the user's name. If that is taken, the kind of number is added.

    >>> names_beside(["time", "length"], {"status", "time"}, "measure")
    {'time': 'time (measure)', 'length': 'length'}
    """
    distinct, requested = dict[str, str](), list(names)
    for name in requested:
        distinct[name] = name
        while distinct[name] in taken or (distinct[name] != name and distinct[name] in requested):
            distinct[name] += f" ({kind})"
    return distinct


def stack_datasets(data: Mapping[str, xr.Dataset], dim: str, remedy: str, missing: Sequence[str] = ()) -> xr.Dataset:
    """Concatenate datasets of equal coordinates along a new first dimension.

    Parameters
    ----------
    data
        Data sets by their labels along ``dim``.
    dim
        Name of the dimension.
    remedy
        Advice for the message.
    missing
        Variables that a dataset may lack; they are NaN there.

    Raises
    ------
    ValueError
        Naming coordinates or variables that differ.
    """
    import xarray as xr

    first, *others = data.values()
    for name in dict.fromkeys([*first.coords, *(name for dataset in others for name in dataset.coords)]):
        if not all(name in dataset.coords and first[name].equals(dataset[name]) for dataset in others):
            raise ValueError(f"{dim}: their {name}s differ, so there is no common array; {remedy}")
    names = dict.fromkeys(name for dataset in data.values() for name in dataset.data_vars)
    datasets = []
    for dataset in data.values():
        for name in names:
            if name not in dataset and name not in missing:
                raise ValueError(f"{dim}: not all have {name}, so there is no common array; {remedy}")
        models = {name: next(d[name] for d in data.values() if name in d) for name in names}
        blank = {n: xr.full_like(model, float("nan")) for n, model in models.items() if n not in dataset}
        datasets.append(dataset.assign(blank))
    return xr.concat(datasets, xr.DataArray(list(data), dims=dim, name=dim), combine_attrs="drop_conflicts")
