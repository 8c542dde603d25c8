"""hopflow: models of hop-by-hop flow control and end-to-end TCP.

The public names of the packages are available here too, loaded on first use:

- `dfcmodel`: fluid models of diffusion-type flow control with TCP on top,
- `markov`: continuous-time Markov chains given by rules, and the 802.3x pause model,
- `responsefn`: window rules of TCP and their response functions.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType
from typing import Any

from hopflow.functions import maximum, minimum, where
from hopflow.status import NotSolvedError, Status
from hopflow.units import gbps, mbps, ms, to_mbps, us

__version__ = "0.1.0"

_PACKAGES = ("dfcmodel", "markov", "responsefn")

__all__ = [
    "NotSolvedError",
    "Status",
    "gbps",
    "maximum",
    "mbps",
    "minimum",
    "ms",
    "to_mbps",
    "us",
    "where",
]


def _package(name: str) -> ModuleType:
    """Import one of hopflow's packages; ImportError names a module of the same name that hides it."""
    package = importlib.import_module(name)
    file = package.__file__
    if file is None or Path(file).parent.parent != Path(__file__).parent.parent:
        msg = f"{name} is {file}, which hides hopflow's package of that name: rename that file"
        raise ImportError(msg)
    return package


def __getattr__(name: str) -> Any:
    if not name.startswith("_"):
        for package in map(_package, _PACKAGES):
            if name in package.__all__:
                return getattr(package, name)
    raise AttributeError(f"module 'hopflow' has no attribute {name!r}")


def __dir__() -> list[str]:
    offered = [name for package in map(_package, _PACKAGES) for name in package.__all__]
    return sorted({*globals(), *offered})
