"""hopflow: models of hop-by-hop flow control and end-to-end TCP.

The public names of the packages are available here too, loaded on first use:

- `dfcmodel`: fluid models of diffusion-type flow control with TCP on top,
- `markov`: continuous-time Markov chains given by rules, and the 802.3x pause model,
- `responsefn`: window rules of TCP and their response functions.

The packages are attributes too: `from hopflow import markov` reports a user file that shadows the package.
"""

from __future__ import annotations

import importlib
from typing import Any

from hopflow.public_names import load_moved, new_locations, package, read_stub, warn_of_others

__version__ = "0.2.0"

_PACKAGES = ("dfcmodel", "markov", "responsefn")
_MODULES = {name: module for name, module in read_stub(__name__, __file__).items() if module.startswith("hopflow.")}
__all__ = sorted(_MODULES)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(importlib.import_module(_MODULES[name]), name)
    if name in _PACKAGES:
        return package(name)
    if not name.startswith("_"):
        for module in map(package, _PACKAGES):
            if name in module.__all__:
                return getattr(module, name)
        for package_name in _PACKAGES:
            if name in new_locations(package_name):
                return load_moved(package_name, name, shown="hopflow")
    raise AttributeError(f"module 'hopflow' has no attribute {name!r}")


def __dir__() -> list[str]:
    exports = [name for module in map(package, _PACKAGES) for name in module.__all__]
    return sorted({*globals(), *__all__, *_PACKAGES, *exports})


warn_of_others()
