"""Display of results: a short aligned table as text, and as HTML with a plot."""

from __future__ import annotations

import base64
import hashlib
import io
import math
import pickle
import sys
import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from hopflow.checks import file_path, format_value
from hopflow.display.html_tables import image_html, table_html
from hopflow.equality import ByValue, state_of
from hopflow.whole_files import replacing

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from matplotlib.figure import Figure

__all__ = ["Described", "Result", "figure", "png", "table_text"]

FILE_HEADER = b"hopflow result 2\n"
"""Header of a result file with the format version; the SHA-256 of the pickle follows, then the pickle."""
OLD_FILE_HEADER = b"hopflow result 1\n"
"""Header of the format without a checksum."""
MAX_TABLE_ROWS = 10**7
"""Maximum number of rows of a table."""
MAX_LINE_VALUE = 130
"""Maximum number of characters of a value in one line."""

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe and Ito's colour-blind-safe palette; black last."""
DECORATION = "_decoration"
"""Label of lines in a figure that show no data."""
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


def figure(width: float = 6.4, height: float = 3.6, **kwargs: Any) -> tuple[Figure, Any]:
    """Return a new figure and its axes, in hopflow's colours.

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
    with mpl.rc_context({"axes.prop_cycle": cycler(color=COLOURS)}):
        axes = new.subplots(**kwargs)
    return new, axes


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
    """Dimensions of array fields; the default is named after the field."""
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
            default_dims = tuple(f"{name}_{axis}" for axis in range(array.ndim))
            attrs = {"units": self.FIELD_UNITS[name]} if name in self.FIELD_UNITS else {}
            variables[name] = self.DIMENSIONS.get(name, default_dims), array, attrs
        return xr.Dataset(variables)

    def to_pandas(self) -> pd.DataFrame:
        """Return the Dataset of `to_xarray` as a table, with a row for each combination of coordinates.

        Raises
        ------
        ValueError
            If the table would have more than `MAX_TABLE_ROWS` rows.
        """
        data = self.to_xarray()
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
        folded = [name for name in rows if name.strip().startswith(self.FOLDED)]
        return table_html(type(self).__name__, rows, folded) + picture
