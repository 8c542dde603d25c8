"""What tests of several packages share: the packages, their public modules, and the ``hopflow`` command."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from hopflow.console.commands import app
from hopflow.public_names import public_modules

__all__ = [
    "HANG",
    "PACKAGES",
    "PUBLIC",
    "ROOT",
    "app",
    "for_each",
    "invoke",
    "printed_by",
    "python",
]
HANG = 3600.0
"""Timeout in s that only ends what would hang: no test may depend on the speed or the load of a machine."""
PUBLIC = tuple(public_modules())
ROOT = Path(__file__).resolve().parents[1]
PACKAGES = tuple(
    tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]["targets"]["wheel"][
        "packages"
    ]
)
"""The packages of the distribution."""


def invoke(words: Sequence[str], **given: Any) -> Any:
    """Return what the ``hopflow`` command does with some words, in this process."""
    return CliRunner().invoke(app, words, **given)


def python(*words: object, env: Mapping[str, str] | None = None, **given: Any) -> subprocess.CompletedProcess[str]:
    """Run Python with some words in a process of its own, and with these variables besides this one's."""
    command = [sys.executable, *map(str, words)]
    environment = os.environ | dict(env or {})
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment, **given)


def printed_by(*words: object, **given: Any) -> str:
    """Return what `python` prints, which must end well."""
    done = python(*words, **given)
    assert done.returncode == 0, done.stderr
    return done.stdout


def for_each(values: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[[], None]]:
    """Make one test of a function of one value, or of a tuple of values, for all of them.

    For dozens of small cases: a test takes about a millisecond of CPU time besides its own, for its collection in each
    process and its report. A failure names the value in a note.
    """
    cases = list(values)
    assert cases

    def decorate(test: Callable[..., None]) -> Callable[[], None]:
        @functools.wraps(test)
        def all_of_them() -> None:
            for case in cases:
                try:
                    test(*case) if isinstance(case, tuple) else test(case)
                except BaseException as error:
                    error.add_note(f"for {case!r}")
                    raise

        del all_of_them.__wrapped__  # pytest would ask for a fixture of the function's parameter
        return all_of_them

    return decorate
