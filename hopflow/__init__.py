"""hopflow: models of hop-by-hop flow control and end-to-end TCP.

The public names of the packages are available here too, loaded on first use:

- `dfcmodel`: fluid models of diffusion-type flow control with TCP on top,
- `markov`: continuous-time Markov chains given by rules, and the 802.3x pause model,
- `responsefn`: window rules of TCP and their response functions.

So are the packages: `from hopflow import markov`, which names a file of yours that hides it.
"""

from __future__ import annotations

from typing import Any

from hopflow.functions import maximum, minimum, where
from hopflow.packages import package
from hopflow.status import Interrupted, NotSolvedError, Status
from hopflow.units import gbps, mbps, ms, to_mbps, us

__version__ = "0.1.0"

_PACKAGES = ("dfcmodel", "markov", "responsefn")

__all__ = [
    "Interrupted",
    "NotSolvedError",
    "Status",
    "gbps",
    "maximum",
    "mbps",
    "minimum",
    "ms",
    "sweep",
    "to_mbps",
    "us",
    "where",
]


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return package(name)
    if name == "sweep":
        from hopflow.sweeps import sweep

        return sweep
    if not name.startswith("_"):
        for each in map(package, _PACKAGES):
            if name in each.__all__:
                return getattr(each, name)
    raise AttributeError(f"module 'hopflow' has no attribute {name!r}")


def __dir__() -> list[str]:
    offered = [name for each in map(package, _PACKAGES) for name in each.__all__]
    return sorted({*globals(), *_PACKAGES, *offered, "sweep"})
