"""The levels at which a scenario is simulated: a fluid, or packets."""

from __future__ import annotations

from dataclasses import dataclass

from dfcmodel.packets.methods import Packets
from hopflow.checks import choice, whole

__all__ = ["Fluid", "Packets"]


@dataclass(frozen=True)
class Fluid:
    """The fluid in discrete time.

    Parameters
    ----------
    steps_per_delay
        m: the step is h = shortest link delay / m. First-loss times and peak queues converge as h.
    backend
        ``"numba"``, or ``"python"``: the same uncompiled, hundreds of times slower.

    Examples
    --------
    >>> Fluid(steps_per_delay=8).steps_per_delay
    8
    """

    steps_per_delay: int = 4
    backend: str = "numba"

    def __post_init__(self) -> None:
        whole("steps_per_delay", self.steps_per_delay, 1, 10_000)
        choice("backend", self.backend, ("numba", "python"))
