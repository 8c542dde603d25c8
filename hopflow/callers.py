"""The caller outside of some packages: where a warning points to, and whether a user called."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from types import FrameType

from hopflow.public_names import ROOT

__all__ = ["calling_frame", "package_folders", "warn_caller"]


def package_folders(*packages: str) -> tuple[str, ...]:
    """Return the folders of packages of this distribution, with which the file names of their frames begin."""
    return tuple(str(ROOT / package) for package in packages)


def calling_frame(is_skipped: Callable[[FrameType], bool]) -> tuple[FrameType, int]:
    """Return the first frame that is not skipped, from the function that calls this one outwards, and its distance.

    The distance is the ``stacklevel`` of `warnings.warn` in the calling function: 1 for that function itself. The
    outermost frame is returned where all others are skipped.

    Examples
    --------
    >>> def called_by(name):
    ...     frame, distance = calling_frame(lambda frame: frame.f_code.co_name == name)
    ...     return frame.f_code.co_name, distance
    >>> called_by("called_by") == ("<module>", 2)
    True
    """
    frame, distance = sys._getframe(1), 1
    while frame.f_back is not None and is_skipped(frame):
        frame, distance = frame.f_back, distance + 1
    return frame, distance


def warn_caller(warning: Warning, *packages: str) -> None:
    """Warn at the caller outside of some packages and of hopflow's core.

    Parameters
    ----------
    warning
        The warning, an instance of its category.
    *packages
        Names such as ``markov``.
    """
    folders = package_folders("hopflow", *packages)

    def is_inside(frame: FrameType) -> bool:
        code = frame.f_code.co_filename
        # methods that dataclasses generates have no file of their own
        file = frame.f_globals.get("__file__", "") if code == "<string>" else code
        return file.startswith(folders)

    _, distance = calling_frame(is_inside)
    warnings.warn(warning, stacklevel=distance)
