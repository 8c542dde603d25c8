"""hopflow: models of hop-by-hop flow control and end-to-end TCP.

The public names of the packages are available here too, loaded on first use:

- `dfcmodel`: fluid models of diffusion-type flow control with TCP on top,
- `markov`: continuous-time Markov chains given by rules, and the 802.3x pause model,
- `responsefn`: window rules of TCP and their response functions.

So are the packages: `from hopflow import markov`, which names a file of yours that hides it.
"""

from __future__ import annotations

from typing import Any

import lazy_loader

from hopflow.naming.packages import package, warn_of_others
from hopflow.naming.public_names import has_moved, moved

__version__ = "0.2.0"

_PACKAGES = ("dfcmodel", "markov", "responsefn")
_own, _, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "functions": ["maximum", "minimum", "where"],
        "execution.sweeps": ["sweep"],
        "status": ["Interrupted", "NotSolvedError", "Status"],
        "units": ["gbps", "mbps", "ms", "to_mbps", "us"],
    },
)


def __getattr__(name: str) -> Any:
    if name in __all__:
        return _own(name)
    if name in _PACKAGES:
        return package(name)
    if not name.startswith("_"):
        for each in map(package, _PACKAGES):
            if name in each.__all__:
                return getattr(each, name)
        for each in _PACKAGES:
            if has_moved(each, name):
                return moved(each, name, shown="hopflow")
    raise AttributeError(f"module 'hopflow' has no attribute {name!r}")


def __dir__() -> list[str]:
    offered = [name for each in map(package, _PACKAGES) for name in each.__all__]
    return sorted({*globals(), *__all__, *_PACKAGES, *offered})


warn_of_others()
