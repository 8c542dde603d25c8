"""Public names of packages: loaded on first use from the modules that a stub names, and names that have moved.

An entry of `MOVED` and `REPLACED` stays for one release after the one that moves the name.
"""

from __future__ import annotations

import ast
import functools
import importlib
from collections.abc import Callable
from importlib.util import resolve_name
from pathlib import Path
from typing import Any

import lazy_loader

__all__ = [
    "ERRORS",
    "MOVED",
    "PACKAGES",
    "PUBLIC",
    "REPLACED",
    "RESULTS",
    "SUBJECTS",
    "attach",
    "collect",
    "has_moved",
    "moved",
]

Attached = tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]

PACKAGES = ("hopflow", "dfcmodel", "dfcmodel.lossless", "markov", "responsefn", "validation")
"""Modules whose public names are what users write in their programs."""
SUBJECTS = ("dfcmodel.recoveries", "dfcmodel.theory", "responsefn.linux")
"""Modules of public names of one subject each."""
RESULTS = ("dfcmodel.results", "dfcmodel.lossless.results", "markov.results", "responsefn.results")
"""Modules of public classes that functions return, for `isinstance` and annotations."""
ERRORS = ("markov.errors", "responsefn.errors")
"""Modules of public errors and warnings."""
PUBLIC = (*PACKAGES, *SUBJECTS, *RESULTS, *ERRORS)
"""All modules of which ``__all__`` is public."""
MOVED = {
    "dfcmodel": {
        "dfcmodel.results": (
            "Comparison Ensemble EnsembleComparison Evaluation Explanation JobCompletion LevelChoice PacketLimit "
            "PacketTrace PausePropagation RunComparison Slowdowns Spectrum StepCheck Trajectory"
        ),
        "dfcmodel.lossless.results": (
            "FrameScenario Headroom Identification RequiredCredits TableAudit Witness"
        ),
        "dfcmodel.recoveries": (
            "LossRecovery NewRenoRecovery PRRRecovery RackRecovery RenoRecovery SackRecovery TahoeRecovery "
            "grow_window limited_transmit reduce_window restart_timer retransmit send_new set_alarm"
        ),
        "dfcmodel.theory": (
            "DiffusionEquation Empty FeedbackEquation Lines bare_law evolve spectrum stability_limit stability_map"
        ),
    },
    "dfcmodel.lossless": {
        "dfcmodel.lossless.results": (
            "BlockedTime Chip CreditScenario CreditWitness Deadlock Dependencies FrameScenario Headroom "
            "HeadroomPool Identification LinkRetry OverflowEstimate OverflowTime PoolRisk PoolWitness PoolWorstCase "
            "RecombinedEstimate RequiredCredits RowAudit RowVerdict StormSpread TableAudit UpDown WatchdogAlarm "
            "WatchdogRisk WatchdogRun Witness"
        ),
    },
    "markov": {
        "markov.results": (
            "AnswerComparison Best ExplicitModel FileModel Lumped MapFit Passage Paths PhaseFit PropertyResult "
            "QuasiStationary Reachable Sensitivity Stationary StationaryByLevel Steps ThresholdAdvice Transient"
        ),
        "markov.errors": (
            "ConvergenceError FileError NoDerivativeError RuleError RuleWarning TooLargeError UndecidedError"
        ),
    },
    "responsefn": {
        "responsefn.results": (
            "Catalogue Coexistence Curve Fit Fused RuleTwin Samples SimulatedResponse UnfairnessExponents"
        ),
        "responsefn.errors": (
            "AmbiguousRateError RuleError SeveralAttractorsWarning SlowApproachWarning UnreachableRateError"
        ),
        "responsefn.linux": (
            "LinuxBIC LinuxCUBIC LinuxHSTCP LinuxHTCP LinuxIllinois LinuxScalable LinuxVegas WestwoodPlus"
        ),
    },
}
"""Names, by the package that had them and the module that has them now."""
REPLACED = {
    "responsefn": {
        "first_interval": "1 / responsefn.invert(responsefn.TFRC(), rate, rtt)",
        "interval_weights": "responsefn.LossHistory(n=n).weights",
    },
}
"""What to write in place of names that are private now, by the package that had them."""
PRIVATE = {
    "first_interval": "responsefn.metrics.tfrc_loss_intervals",
    "interval_weights": "responsefn.metrics.tfrc_loss_intervals",
}
"""Modules of those names."""


@functools.cache
def _places(package: str) -> dict[str, tuple[str, str]]:
    """Return the module of each name that a package had, and what to write, by the old name."""
    found: dict[str, tuple[str, str]] = {}
    for module, names in MOVED.get(package, {}).items():
        found |= {name: (module, f"from {module} import {name}") for name in names.split()}
    for name, new in REPLACED.get(package, {}).items():
        found[name] = PRIVATE[name], new
    return found


def has_moved(package: str, name: str) -> bool:
    """Return whether a package had a name that is elsewhere now."""
    return name in _places(package)


def moved(package: str, name: str, *, shown: str = "", stacklevel: int = 3) -> Any:
    """Return an object by a name that a package had in the last release, and warn.

    Parameters
    ----------
    package, name
        Of `MOVED` or `REPLACED`.
    shown
        The package that the warning names; "": ``package``.
    stacklevel
        As for `warnings.warn`: 3 is the caller of the function that calls this one.

    Raises
    ------
    AttributeError
        If the package had no such name.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as said:
    ...     warnings.simplefilter("always")
    ...     moved("markov", "Stationary").__name__
    'Stationary'
    >>> print(said[0].message)
    markov.Stationary is deprecated and will be removed in the next release; write from markov.results import Stationary
    """
    if not has_moved(package, name):
        raise AttributeError(f"module {shown or package!r} has no attribute {name!r}")
    from hopflow.deprecations import warn_deprecated

    module, new = _places(package)[name]
    warn_deprecated(f"{shown or package}.{name}", new, stacklevel=stacklevel + 1)
    return getattr(importlib.import_module(module), name)


def attach(package: str, file: str, *submodules: str) -> Attached:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package whose names are loaded on first use.

    Names that have moved are found too, with a warning.

    Parameters
    ----------
    package, file
        ``__name__`` and ``__file__``. The stub beside the file imports the names.
    submodules
        Modules that the stub imports. They can be reached by their name, and are not in ``__all__``.
    """
    load, _, names = lazy_loader.attach_stub(package, file)

    def get(name: str) -> Any:
        return load(name) if name in names else moved(package, name)

    return get, names.copy, [each for each in names if each not in submodules]


def collect(package: str, file: str) -> Attached:
    """Return what `attach` returns, of a package whose stub imports names from packages above it, too."""
    places: dict[str, str] = {}
    for node in ast.parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            module = resolve_name("." * node.level + (node.module or ""), package)
            places |= dict.fromkeys((each.name for each in node.names), module)

    def get(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(places[name]), name)

    names = sorted(places)
    return get, names.copy, names
