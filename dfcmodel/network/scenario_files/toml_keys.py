"""Keys of scenario files: fields with units, and the classes that tables name by their ``kind``."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
from collections.abc import Iterable
from functools import cache
from types import ModuleType
from typing import Any

import responsefn
from dfcmodel.network import elements, queueing
from dfcmodel.network.elements.base import PathElement
from dfcmodel.network.endpoints.arrivals import HeavyTailed, Poisson, Replay
from dfcmodel.network.endpoints.native_rules import NativeRule
from dfcmodel.network.endpoints.sources import CBR, OnOff
from dfcmodel.network.queueing import class_pauses, disciplines, link_laws, schedulers
from dfcmodel.network.queueing.programs import SwitchProgram
from responsefn import DeliveryRule, RateRule, WindowRule, linux

__all__ = [
    "ARRIVALS",
    "DISCIPLINES",
    "ELEMENTS",
    "REQUIRED_KEYS",
    "RULES",
    "check_name",
    "classes_in",
    "fields_without_default",
    "parameter_names",
    "sources_of",
]

REQUIRED_KEYS = {"link": ("source", "target"), "flow": ("name", "path")}
"""Keys that each link and flow must have: they have no defaults."""

BASES = (
    disciplines.Discipline,
    disciplines.QueueManager,
    class_pauses.ByClass,
    link_laws.LinkLaw,
    SwitchProgram,
    schedulers.HashedQueues,
    schedulers.Weighted,
)


def classes_in(package: ModuleType, base: type[Any]) -> dict[str, type[Any]]:
    """Return the subclasses of ``base``, without `BASES`, in all modules of a package, by name."""
    names = [f"{package.__name__}.{module.name}" for module in pkgutil.iter_modules(package.__path__)]
    kinds = (kind for name in names for kind in vars(importlib.import_module(name)).values())
    return {
        kind.__name__: kind
        for kind in kinds
        if isinstance(kind, type) and issubclass(kind, base) and kind not in (*BASES, base)
    }


DISCIPLINES = classes_in(queueing, disciplines.Discipline)

ARRIVALS = {kind.__name__: kind for kind in (Poisson, HeavyTailed, Replay)}

ELEMENTS = classes_in(elements, PathElement)

RULES = (WindowRule, DeliveryRule, RateRule)


@cache
def _builtin_sources() -> dict[str, type[Any]]:
    """Return the built-in classes of sources by their names in files."""
    exported = (getattr(package, name) for package in (responsefn, linux) for name in package.__all__)
    rules = [rule for rule in exported if isinstance(rule, type) and issubclass(rule, RULES) and rule not in RULES]
    return {kind.__name__: kind for kind in (*rules, NativeRule, CBR, OnOff, *ARRIVALS.values())}


def check_name(rule: type[Any]) -> None:
    """Raise ValueError for a user-defined class with the name of a built-in source."""
    name = rule.__name__
    if _builtin_sources().get(name, rule) is not rule:
        msg = "hopflow has a source of this name, as which a file would be read: rename the class"
        raise ValueError(f"{name} of {rule.__module__}: {msg}")


def sources_of(rules: Iterable[type[WindowRule]]) -> dict[str, type[Any]]:
    """Return the classes of sources by their names in files: built-in classes, and ``rules``, which replace them."""
    rules = tuple(rules)
    for rule in rules:
        if not issubclass(rule, RULES):
            raise TypeError(f"rules: {rule!r}: must be a class of rules, such as responsefn.Reno")
    return {**_builtin_sources(), **{rule.__name__: rule for rule in rules}}


def parameter_names(kind: type[Any]) -> tuple[str, ...]:
    """Return the names of a class's parameters: of its constructor, or of a rule."""
    if issubclass(kind, RULES):
        return tuple(kind.Params._fields)
    return tuple(field.name for field in dataclasses.fields(kind) if field.init)


def fields_without_default(kind: type[Any]) -> list[str]:
    """Return the names of the parameters of a class that have no default."""
    if issubclass(kind, RULES):
        return [name for name in kind.Params._fields if name not in kind.Params._field_defaults]
    missing = dataclasses.MISSING
    fields = dataclasses.fields(kind)
    return [f.name for f in fields if f.default is missing and f.default_factory is missing]
