"""What a finding shows beside its verdicts: numbers, figures, causes switched off, the gap between fluid and packets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Experiment:
    """A cause that an explanation names, switched off. Values are formatted text.

    Attributes
    ----------
    cause
        What is switched off, and the quantity that shows it.
    kept, removed
        The quantity with the cause and without it.
    effect
        How much of the difference that it explains goes away.
    """

    cause: str
    kept: str
    removed: str
    effect: str = ""


@dataclass(frozen=True)
class Number:
    """One row of evidence. ``tolerance`` states its reason; values are formatted text.

    ``level`` is the quantity at hopflow's own packet level.
    """

    quantity: str
    model: str = ""
    simulation: str = ""
    paper: str = ""
    tolerance: str = ""
    level: str = ""


@dataclass(frozen=True)
class Picture:
    """A figure of the report, drawn on demand; ``alt`` describes it to readers who cannot see it.

    ``svg`` is the figure as drawn before, where it was, and ``points`` what it shows (`validation.display.picture_points`).
    """

    draw: Callable[[], Figure]
    caption: str
    alt: str
    svg: str = ""
    points: pd.DataFrame | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Gap:
    """What lies between the fluid and packets on the scenario of a claim; its figure is the last of the finding.

    Attributes
    ----------
    about
        What was compared.
    columns
        Names of the rows of the waterfall, in its order.
    rows
        By quantity: a cell for each column.
    sentences
        The certain contributions to each gap, and what is left.
    case
        The bundled results.
    """

    about: str
    columns: tuple[str, ...]
    rows: dict[str, tuple[str, ...]]
    sentences: tuple[str, ...]
    case: str
