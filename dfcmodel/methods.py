"""The levels at which a scenario is simulated: a fluid, or packets."""

from __future__ import annotations

from typing import Literal

from dfcmodel.engine.fluid import Fluid
from dfcmodel.packets.methods import Packets
from hopflow.checks import choice, instance
from hopflow.deprecations import warn_deprecated

__all__ = ["LEVELS", "Fluid", "Level", "Packets", "method_of"]

Level = Literal["fluid", "packets", "auto"]
LEVELS: tuple[Level, ...] = ("fluid", "packets", "auto")


def method_of(
    level: Level | None, method: Fluid | Packets | str | None, called: str = "simulate"
) -> Fluid | Packets | None:
    """Return the method for a level and the settings given with it; None where the level is to be chosen.

    Parameters
    ----------
    level
        ``"fluid"``, ``"packets"`` or ``"auto"``; None: that of ``method``, or ``"auto"`` without one.
    method
        Settings of a level, or None for its defaults. ``"auto"`` is the former spelling of ``level="auto"``.
    called
        Name of the function for the messages.

    Raises
    ------
    TypeError, ValueError
        For an unknown level, something else than a method, or a level and a method that differ.

    Examples
    --------
    >>> method_of("packets", None) == Packets(), method_of("auto", None), method_of(None, Fluid()) == Fluid()
    (True, None, True)
    """
    if isinstance(method, str):
        if method not in LEVELS:
            levels = ", ".join(map(repr, LEVELS))
            raise ValueError(
                f"method = {method!r}: must be Fluid(...), Packets(...) or None; level is one of {levels}"
            )
        warn_deprecated(f"{called}(method={method!r})", f"{called}(level={method!r})", stacklevel=5)
        method, level = None, method if level is None else level
    if method is not None:
        instance("method", method, (Fluid, Packets), "Fluid(...), Packets(...) or None")
    if level is None:
        return method
    choice("level", level, LEVELS)
    if level == "auto":
        if method is not None:
            raise ValueError(
                f"method = {method!r}: must be None with level='auto', which chooses it"
            )
        return None
    kind = Fluid if level == "fluid" else Packets
    if method is None:
        return kind()
    if type(method) is not kind:
        raise ValueError(f"level = {level!r}: method = {method!r} is of the other level")
    return method
