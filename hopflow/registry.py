"""Registries of classes by name, from hopflow and from entry points of other distributions."""

from __future__ import annotations

import ast
import importlib
import runpy
import traceback
from collections.abc import Callable, Mapping
from errno import ENOENT
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

from hopflow.checks import choice, format_value
from hopflow.fork_safety import cached_property
from hopflow.public_names import LEFT_OUT

__all__ = ["Registry", "object_of_call", "object_of_file"]

T = TypeVar("T")


def object_of_call(parameter: str, text: str, named: Callable[[str, str], type[T]], example: str) -> T:
    """Return an object of a class by name: with parameters in brackets, as results print it, or at its defaults.

    Parameters
    ----------
    parameter
        Name of the parameter, for messages.
    text
        The name, or a call of it with numbers and strings. Nothing in it is run.
    named
        Returns the class for the parameter and a name.
    example
        Such a call, for messages.

    Raises
    ------
    ValueError
        For another text, and for parameters that the class refuses.

    Examples
    --------
    >>> from fractions import Fraction
    >>> object_of_call("share", "fraction(3, denominator=6)", lambda *_: Fraction, "fraction(3, 6)")
    Fraction(1, 2)
    """
    begin, bracket, _ = text.partition("(")
    kind = named(parameter, begin.strip() if bracket else text)
    try:
        call = ast.parse(text.strip(), mode="eval").body if bracket else ast.Call(ast.Name(text), [], [])
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            raise TypeError("no call")
        if any(keyword.arg is None for keyword in call.keywords):
            raise ValueError("no names")
        values = [ast.literal_eval(argument) for argument in call.args]
        options = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        message = f"must be a name, or one with numbers and strings in brackets, such as {example}"
        raise ValueError(f"{parameter} = {format_value(text)}: {message}") from None
    try:
        return kind(*values, **options)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{parameter} = {format_value(text)}: {error}") from None


def object_of_file(
    path: Path,
    variable: str,
    base: type[T],
    others: tuple[type[Any], ...] = (),
    convert: Callable[[Any], Any] | None = None,
) -> Any:
    """Return the object that a user's Python file defines.

    In this order: the value of the variable, an instance of the single subclass of ``base`` in the file, or the single
    object of ``base`` or ``others``.

    Parameters
    ----------
    path
        The file, which is run.
    variable
        Name of the variable, such as ``"model"``; the module that runs has this name.
    base
        Class of the object; its subclass is instantiated without arguments.
    others
        Further classes of objects.
    convert
        Function that returns one of them for another value of the variable; its errors name the allowed values.

    Raises
    ------
    FileNotFoundError
        If the file does not exist.
    ValueError
        If it has no such object, or several; if it cannot be read, or fails or exits while it runs, with the line.
    """
    if not path.is_file():
        raise FileNotFoundError(ENOENT, "there is no such file", str(path))
    names = _run_file(path, variable)
    if variable in names:
        if isinstance(names[variable], (base, *others)):
            return names[variable]
        if convert is not None:
            try:
                return convert(names[variable])
            except (TypeError, ValueError) as error:
                raise ValueError(f"path = {str(path)!r}: {error}") from None
        kind = type(names[variable]).__name__
        raise ValueError(f"path = {str(path)!r}: {variable} is a {kind}, must be a {base.__name__}")
    classes = [
        value
        for value in names.values()
        if isinstance(value, type) and issubclass(value, base) and value.__module__ == variable
    ]
    objects = {id(value): value for value in names.values() if isinstance(value, (base, *others))}
    if not classes and len(objects) == 1:
        return next(iter(objects.values()))
    if len(classes) != 1:
        count = len(classes) or len(objects)
        msg = f"{count} {variable}s: must have one {base.__name__}, or a variable named {variable}"
        raise ValueError(f"path = {str(path)!r}: {msg}")
    return classes[0]()


def _run_file(path: Path, name: str) -> dict[str, Any]:
    """Return the names that a Python file defines.

    Raises
    ------
    ValueError
        If it raises an error or exits, in one line.
    ImportError
        For a package that the light installation leaves out.
    MemoryError
        If it needs more than there is.
    """
    try:
        return runpy.run_path(str(path), run_name=name)
    except MemoryError:
        raise
    except (Exception, SystemExit) as error:
        if isinstance(error, ImportError) and (error.name or "").partition(".")[0] in LEFT_OUT:
            raise
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
        line = error.lineno if isinstance(error, SyntaxError) else lines[-1] if lines else None
        message = (error.msg if isinstance(error, SyntaxError) else str(error)).splitlines()
        problem = ": ".join([type(error).__name__, *message[:1]])
        where = f", line {line}" if line else ""
        raise ValueError(f"path = {str(path)!r}{where}: the file cannot be run: {problem}") from error


class Registry(Generic[T]):
    """Classes by their names on the command line.

    Classes of the package are listed under their lower-case names. Classes of other distributions are listed under the
    names of their entry points.

    Parameters
    ----------
    modules
        Module by class name, for classes of this package; a module is imported at the first look-up.
    group
        Entry-point group for classes of other distributions: ``[project.entry-points."hopflow.rules"]``.
    base
        Base class of entry points, or the name of a method that they must have.
    hint
        Requirement on an entry point, for messages.
    """

    def __init__(self, modules: Mapping[str, str], group: str, base: type[T] | str, hint: str):
        self._modules = {name.lower(): (module, name) for name, module in modules.items()}
        self._group, self._base, self._hint = group, base, hint

    @cached_property
    def _entry_points(self) -> dict[str, type[T]]:
        """Classes from entry points of installed distributions.

        Raises
        ------
        TypeError
            If an entry point does not fit.
        """
        classes: dict[str, type[T]] = {}
        for point in entry_points(group=self._group):
            cls, base = point.load(), self._base
            fits = isinstance(cls, type) and (
                callable(getattr(cls, base, None)) if isinstance(base, str) else issubclass(cls, base)
            )
            if not fits:
                entry = f"entry point {point.name} = {point.value} of {self._group}"
                raise TypeError(f"{entry}: must be {self._hint}")
            classes[point.name.lower()] = cls
        return classes

    def names(self) -> list[str]:
        """Return all names, sorted."""
        return sorted({*self._modules, *self._entry_points})

    def named(self, parameter: str, name: str) -> type[T]:
        """Return the class with this name; case does not matter.

        Raises
        ------
        ValueError
            Naming the parameter and the closest match.
        """
        full_name = choice(parameter, name.lower(), self.names())
        if full_name in self._entry_points:
            return self._entry_points[full_name]
        module, kind = self._modules[full_name]
        return cast("type[T]", getattr(importlib.import_module(module), kind))
