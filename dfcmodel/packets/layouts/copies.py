"""Layouts of further runs of a scenario, which differ from that of a run before in their seeds and starts alone."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dfcmodel.network.queueing.programs import SwitchProgram
from dfcmodel.packets.layouts.capacities import LINE, aligned

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from dfcmodel.packets.plans import Plan

__all__ = ["CONSTANT", "Layout", "further_layout"]

CONSTANT = (
    "times", "sizes", "hop", "order", "home", "begun", "first_windows", "arrivals", "followers", "feedback", "lawful",
    "steps", "chain", "chain_of", "rated", "choice", "candidates", "down", "downs", "epochs", "routes", "turns",
)  # fmt: skip
"""Arrays that runs share: the kernel does not change them."""
WITHOUT_VALUES = ("packet", "sent_at", "ring", "block", "out")
"""Arrays without values at first."""
MOST_COPIED_HOPS = 512
"""Hops of all flows up to which a layout is kept for further runs: beyond, the loop takes much longer than the layout."""
KEY = ("layout",)
"""Of the layout of the last kind of run in what a scenario keeps."""
OF_SEED = ("seed", "phases")
"""Options of a method on which a layout does not depend, before it is given its seeds."""


@dataclass
class Layout:
    """The state of a run at its start.

    Attributes
    ----------
    arrays
        The arrays by their names in the kernel, and ``first_windows``: those of flows that do not start.
    ahead
        Length of a window, s.
    most
        Number of packets that are enough for the plan.
    """

    arrays: dict[str, Any]
    ahead: float
    most: int


def further_layout(plan: Plan, options: tuple[Any, ...], make: Callable[[], Layout]) -> Layout:
    """Return what ``make`` does, or a copy of it, where a run before differed in its seed and its starts alone.

    A second run of a kind keeps its layout with the scenario, later ones copy it.

    Parameters
    ----------
    plan
        Of the run.
    options
        What ``make`` depends on besides the plan.
    make
        Returns the layout, in which nothing depends on the seed, the phases and the starts.
    """
    if len(plan.hops.port) > MOST_COPIED_HOPS or _has_seeds(plan):
        return make()
    kept = plan.scenario.derived
    own = plan.end, plan.sample, plan.jitter, plan.faults, plan.watchdogs
    key = plan.ports, *own, *_options_of(plan.method), *options
    before, pattern = kept.get(KEY, (None, None))
    if before is None or before[0] is not plan.ports or before[1:] != key[1:]:
        kept[KEY] = key, None
        return make()
    if pattern is None:
        pattern = _pattern_of(make())
        kept[KEY] = key, pattern
    found: Layout = pattern.copied()
    return found


class _Pattern(NamedTuple):
    """A layout of which runs get copies.

    Attributes
    ----------
    ahead, most
        As of `Layout`.
    shared
        Arrays that all runs share.
    without_values
        Number and type of the rows of arrays without values.
    bytes
        All other arrays, one after the other, each of which begins with a cache line.
    places
        Their shapes, types and first bytes.
    """

    ahead: float
    most: int
    shared: dict[str, Any]
    without_values: dict[str, tuple[Any, Any]]
    bytes: NDArray[np.uint8]
    places: dict[str, tuple[Any, Any, int]]

    def copied(self) -> Layout:
        """Return the layout of a run."""
        own = aligned(len(self.bytes), np.uint8)
        own[:] = self.bytes
        found = self.shared | {
            name: np.ndarray(shape, kind, own, at)
            for name, (shape, kind, at) in self.places.items()
        }
        for name, (shape, kind) in self.without_values.items():
            found[name] = aligned(shape[0], kind) if len(shape) == 1 else np.empty(shape, kind)
        return Layout(found, self.ahead, self.most)


def _pattern_of(layout: Layout) -> _Pattern:
    """Return a layout as one of which runs get copies."""
    arrays = layout.arrays
    others = [name for name in arrays if name not in (*CONSTANT, *WITHOUT_VALUES)]
    lines = [-(-arrays[name].nbytes // LINE) for name in others]
    ends = LINE * np.cumsum(lines)
    whole, places = np.zeros(int(ends[-1]), dtype=np.uint8), dict[str, tuple[Any, Any, int]]()
    for name, end, count in zip(others, ends.tolist(), lines, strict=True):
        array, at = arrays[name], end - LINE * count
        places[name] = array.shape, array.dtype, at
        whole[at : at + array.nbytes] = array.view(np.uint8).ravel() if array.size else 0
    empty = {name: (arrays[name].shape, arrays[name].dtype) for name in WITHOUT_VALUES}
    shared = {name: arrays[name] for name in CONSTANT}
    return _Pattern(layout.ahead, layout.most, shared, empty, whole, places)


def _has_seeds(plan: Plan) -> bool:
    """Return whether more in the arrays than what is set at the start of a run depends on its seed and starts."""
    return (
        plan.spraying is not None
        or plan.has(SwitchProgram)
        or bool(plan.clocks)
        or bool(plan.scenario.table.waits.any())
        or bool(plan.idle.any())
    )


def _options_of(method: Any) -> tuple[Any, ...]:
    """Return the options of a method on which a layout depends."""
    return tuple(
        getattr(method, each.name)
        for each in dataclasses.fields(method)
        if each.name not in OF_SEED
    )
