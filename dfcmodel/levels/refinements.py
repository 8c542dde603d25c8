"""Refinements: parts of the model of one level that can be switched on and off."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from dfcmodel.methods import Fluid, Packets
from dfcmodel.network.flows import window_rules
from dfcmodel.network.networks import Scenario
from dfcmodel.network.phase_effects import packet_time, packet_wait
from hopflow.checks import choice, flag, instance

if TYPE_CHECKING:
    from collections.abc import Iterable


__all__ = [
    "Refinement",
    "default_refinements",
    "usual_refinements",
    "waits_in_seconds",
    "with_refinements",
]

LEVELS: dict[str, type[Fluid | Packets]] = {"fluid": Fluid, "packets": Packets}
SIMULATED = ("packet_jitter",)
"""Arguments of `simulate` that a refinement can change, beside the fields of the method."""


@dataclass(frozen=True)
class Refinement:
    """A part of a level's model, with the settings that switch it on and off.

    Parameters
    ----------
    name
        Label in tables and figures.
    level
        ``"fluid"``: the comparison begins with a fluid without it, and it is switched on there. ``"packets"``:
        packets have it, no fluid does, and it is switched off there.
    off, on
        Fields of `Fluid` or `Packets`, and ``packet_jitter`` of `simulate`, with their values without and
        with the refinement; ``packet_jitter`` as there, such as ``"1pkt"``. Other fields keep the value of the method.

    Raises
    ------
    ValueError
        For an unknown level or field, and for ``off`` and ``on`` that are equal.

    Examples
    --------
    >>> from dfcmodel import Refinement
    >>> steps = Refinement("shorter steps", "fluid", on={"steps_per_delay": 16})
    >>> steps.level
    'fluid'
    """

    name: str
    level: str
    off: Mapping[str, Any] = field(default_factory=dict)
    on: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        choice(f"level of refinement {self.name!r}", self.level, LEVELS)
        allowed = [item.name for item in fields(LEVELS[self.level])]
        for name in ("off", "on"):
            instance(f"{name} of refinement {self.name!r}", getattr(self, name), Mapping)
        for settings in (self.off, self.on):
            for key in settings:
                choice(f"refinement {self.name!r}: field", key, [*allowed, *SIMULATED])
        if self.off == self.on:
            raise ValueError(f"refinement {self.name!r}: off = on = {self.off!r}, must differ")

    @property
    def random_time(self) -> float:
        """Largest random time, s, before packets without the refinement; 0 if it does not change these times."""
        off, on = (float(settings.get("packet_jitter", 0.0)) for settings in (self.off, self.on))
        return off if self.level == "packets" and on == 0.0 else 0.0


def waits_in_seconds(refinement: Refinement, scenario: Scenario) -> Refinement:
    """Return a refinement with ``packet_jitter`` such as "1pkt" converted to s for a scenario."""
    off, on = (
        {name: packet_wait(scenario, value) if name == "packet_jitter" else value for name, value in settings.items()}
        for settings in (refinement.off, refinement.on)
    )
    return replace(refinement, off=off, on=on)


def sack_pipe() -> Refinement:
    """Return the refinement "SACK pipe": packets in flight as the sender counts them in loss recovery."""
    return Refinement("SACK pipe", "fluid", off={"pipe": "rfc6675"}, on={"pipe": "fall1996"})


def default_refinements(scenario: Scenario, *, shared: bool = False) -> tuple[Refinement, ...]:
    """Return the refinements by which the levels differ on a scenario; with ``shared`` the common ones too.

    Packets have it, and the fluid as `simulate` runs it does not:

    - *whole losses*: packets come at random times, and a full queue drops whole packets; without it each
      flow loses its part of each overflow.
    - *SACK pipe*: a sender with SACK that repairs losses counts lost packets as in flight, as the packet level's
      ``"sack"`` does (`Fluid`, ``pipe="fall1996"``); without it, it does not (RFC 6675), and repairs many losses
      faster.

    No fluid has it:

    - *packet phases*: packets come when the protocol sends them, so that flows can stay in step for
      long; without it each packet waits a random time of up to one packet time.
    - *queued ACKs*: ACKs take time on their links and queue there.
    - *whole counts*: the law of `DFC` reads whole packets; without it their average over the
      transmission time of a packet (``count_smoothing``).

    Both levels have it; without all of them the fluid is *bare*, with windows, queues and propagation delays alone:

    - *transmission times*: a packet takes its transmission time on each link (store and forward).
    - *recovery*: losses are repaired as the window rule says, NewReno one in each round trip; without it
      all losses of a window in one round trip (SACK).
    - *timeouts*: retransmission timers.

    Parameters
    ----------
    scenario
        Without window rules the levels differ in whole counts at most.
    shared
        Whether to return the refinements that both levels have as well; they come first.

    Examples
    --------
    >>> from dfcmodel import default_refinements, takano2006
    >>> scenario = takano2006("1", dfc=False)
    >>> [refinement.name for refinement in default_refinements(scenario)]
    ['whole losses', 'packet phases', 'queued ACKs']
    >>> [refinement.name for refinement in default_refinements(scenario, shared=True)][:3]
    ['transmission times', 'recovery', 'timeouts']
    """
    instance("scenario", scenario, Scenario)
    flag("shared", shared)
    rules = list(window_rules(scenario.flows))
    refinements = []
    wait = packet_time(scenario)
    with_dfc = [link.discipline.diffuses for link in scenario.links]
    if shared and not all(with_dfc):
        refinements.append(Refinement("transmission times", "fluid", off={"store_and_forward": False}))
    if shared and any(rule.recovery != "sack" for rule in rules):
        refinements.append(Refinement("recovery", "fluid", off={"recovery": "sack"}))
    if shared and rules:
        refinements.append(Refinement("timeouts", "fluid", off={"timeouts": False}))
    if rules:
        random, regular = {"packet_jitter": wait}, {"packet_jitter": 0.0}
        refinements += [
            Refinement("whole losses", "fluid", off=regular, on=random),
            *([sack_pipe()] if any(rule.recovery == "sack" for rule in rules) else []),
            Refinement("packet phases", "packets", off=random, on=regular),
            Refinement("queued ACKs", "packets", off={"ack_transmission": False}),
        ]
    if any(with_dfc):
        refinements.append(Refinement("whole counts", "packets", off={"count_smoothing": wait}))
    return tuple(refinements)


def with_refinements(
    method: Fluid | Packets, refinements: Iterable[Refinement], chosen: int, wait: float = 0.0
) -> dict[str, Any]:
    """Return arguments of `simulate` with the refinements in bit mask ``chosen``; ``wait``: packet jitter, s.

    Parameters
    ----------
    method
        The level with its other settings.
    refinements
        Refinements of the level.
    chosen
        Bit mask of the refinements that are on: the first is 1, the second 2, the third 4.
    wait
        ``packet_jitter`` of `simulate` that no refinement changes, s.
    """
    changes: dict[str, Any] = {"packet_jitter": wait}
    for n, refinement in enumerate(refinements):
        changes |= refinement.on if chosen >> n & 1 else refinement.off
    arguments = {name: changes.pop(name) for name in SIMULATED}
    return {"method": replace(method, **changes), **arguments}


def usual_refinements(method: Fluid | Packets, refinements: Iterable[Refinement], wait: float = 0.0) -> int:
    """Return the bit mask of the refinements that are on in ``method`` with a ``packet_jitter`` of ``wait`` s.

    >>> from dfcmodel import Fluid, default_refinements, takano2006
    >>> refinements = default_refinements(takano2006("1", dfc=False), shared=True)
    >>> of_fluid = [refinement for refinement in refinements if refinement.level == "fluid"]
    >>> bin(usual_refinements(Fluid(), of_fluid)), of_fluid[-1].name  # all but the last
    ('0b111', 'whole losses')
    """
    values = {item.name: getattr(method, item.name) for item in fields(method)}
    values |= dict.fromkeys(SIMULATED, wait)
    on = [all(values[key] == value for key, value in refinement.on.items()) for refinement in refinements]
    return sum(1 << n for n, is_on in enumerate(on) if is_on)
