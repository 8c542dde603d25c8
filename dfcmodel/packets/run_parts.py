"""Runs in parts of a quarter of a second, between which Ctrl-C is heard and progress is shown."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Protocol

from hopflow.execution.executing import check_stop

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["LONGER", "parts"]

PART = 0.25
"""What a part takes, s."""
LONGER = 8
"""Times as many samples as the first part, or as the one before, that a part has at most."""


class Sampled(Protocol):
    """A run that counts the samples that it has completed, with a bar of progress or None."""

    done: int
    bar: Any


def parts(run: Sampled, until: int, first: int, most: int | None = None) -> Iterator[int]:
    """Yield up to which sample a run goes on in each part, until it is there.

    Parameters
    ----------
    run
        Whose ``done`` the caller sets between two parts.
    until
        The sample at whose end it stops.
    first
        Samples of the first part, the least of all.
    most
        Of any part; None: `LONGER` times as many as the part before.

    Raises
    ------
    KeyboardInterrupt
        After Ctrl-C.
    """
    size = first
    while run.done < until:
        check_stop()
        before, began = run.done, time.perf_counter()
        yield min(before + size, until)
        spent = max(time.perf_counter() - began, 1e-6)
        fits = int(PART * max(1, run.done - before) / spent)
        size = min(max(first, fits), LONGER * size if most is None else most)
        if run.bar is not None:
            run.bar.update(run.done - before)
