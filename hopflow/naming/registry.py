"""Registries: what is offered by name to commands, tables and tests, from here and from other distributions."""

from __future__ import annotations

import importlib
import runpy
from collections.abc import Mapping
from errno import ENOENT
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

from hopflow.checks import choice
from hopflow.fork_safety import cached_property

__all__ = ["Registry", "object_of_file"]

T = TypeVar("T")


def object_of_file(
    path: Path, variable: str, base: type[T], others: tuple[type[Any], ...] = ()
) -> Any:
    """Return the object that a Python file of the user's defines.

    It is the value of the variable, otherwise an instance of the one subclass of ``base`` that the file defines, otherwise the one
    object in it of ``base`` or of ``others``.

    Parameters
    ----------
    path
        The file, which is run.
    variable
        Name of the variable, such as ``"model"``; the module that runs has this name.
    base
        Class of what is sought, made without arguments.
    others
        Further classes of objects.

    Raises
    ------
    FileNotFoundError
        Where there is no such file.
    ValueError
        Where it has no such object, or several.
    """
    if not path.is_file():
        raise FileNotFoundError(ENOENT, "there is no such file", str(path))
    names = runpy.run_path(str(path), run_name=variable)
    if variable in names:
        if isinstance(names[variable], (base, *others)):
            return names[variable]
        kind = type(names[variable]).__name__
        raise ValueError(f"path = {str(path)!r}: {variable} is a {kind}, must be a {base.__name__}")
    classes = [
        value
        for value in names.values()
        if isinstance(value, type) and issubclass(value, base) and value.__module__ == variable
    ]
    objects = {id(each): each for each in names.values() if isinstance(each, (base, *others))}
    if not classes and len(objects) == 1:
        return next(iter(objects.values()))
    if len(classes) != 1:
        count = len(classes) or len(objects)
        msg = f"{count} {variable}s: must have one {base.__name__}, or a variable named {variable}"
        raise ValueError(f"path = {str(path)!r}: {msg}")
    return classes[0]()


class Registry(Generic[T]):
    """Classes by their names on the command line.

    Own classes have their own names in lower case, those of other distributions the names of their entry points.

    Parameters
    ----------
    own
        Classes of this package; a class that is given twice counts once. Or the modules that define them, by the names
        of the classes: a module is imported when its class is asked for.
    group
        Entry points by which other distributions offer more: ``[project.entry-points."hopflow.rules"]``.
    base
        What an entry point must be a subclass of, or a class whose attributes it must have.
    hint
        What an entry point must be, for a message.
    """

    def __init__(
        self,
        own: tuple[type[T], ...] | Mapping[str, str],
        group: str,
        base: type[T] | str,
        hint: str,
    ):
        modules = own if isinstance(own, Mapping) else {}
        classes = () if isinstance(own, Mapping) else own
        self._modules = {name.lower(): (module, name) for name, module in modules.items()}
        self._own = {kind.__name__.lower(): kind for kind in classes}
        self._group, self._base, self._hint = group, base, hint

    @cached_property
    def _installed(self) -> dict[str, type[T]]:
        """The classes that installed distributions offer.

        Raises
        ------
        TypeError
            Where an entry point is something else.
        """
        found: dict[str, type[T]] = {}
        for point in entry_points(group=self._group):
            offered = point.load()
            if not (isinstance(offered, type) and self._fits(offered)):
                place = f"entry point {point.name} = {point.value} of {self._group}"
                raise TypeError(f"{place}: must be {self._hint}")
            found[point.name.lower()] = offered
        return found

    def _fits(self, offered: type[Any]) -> bool:
        if isinstance(self._base, str):
            return callable(getattr(offered, self._base, None))
        return issubclass(offered, self._base)

    def names(self) -> list[str]:
        """Return all names, sorted."""
        return sorted({*self._own, *self._modules, *self._installed})

    def named(self, parameter: str, name: str) -> type[T]:
        """Return the class with this name, in upper or lower case.

        Raises
        ------
        ValueError
            Naming the parameter and the closest name.
        """
        known = choice(parameter, name.lower(), self.names())
        if known in self._installed:
            return self._installed[known]
        if known in self._own:
            return self._own[known]
        module, kind = self._modules[known]
        return cast("type[T]", getattr(importlib.import_module(module), kind))
