"""Files of results: read whole or not at all, written in one step."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

from hopflow.whole_files import replacing


def read(place: Path) -> Any:
    """Return what was written to a file; None if it is not there, incomplete or of other classes."""
    try:
        return pickle.loads(place.read_bytes())
    except (OSError, EOFError, pickle.UnpicklingError, AttributeError, ImportError, TypeError):
        return None


def write(place: Path, found: object) -> None:
    """Write a result to a file in one step."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with replacing(place) as scratch, scratch.open("wb") as file:
        pickle.dump(found, file)
