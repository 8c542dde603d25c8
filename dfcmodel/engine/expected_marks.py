"""A scenario whose links and senders have the means of what they draw, for ``Fluid(marks="expected")``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dfcmodel.network.queueing.disciplines import manager_of
from responsefn import RateRule, WindowRule

if TYPE_CHECKING:
    from dfcmodel.network.flows import Flow
    from dfcmodel.network.links import Link
    from dfcmodel.network.networks import Scenario
    from dfcmodel.network.queueing.disciplines import Discipline

__all__ = ["with_expected_marks"]

INSTEAD = 'use marks="drawn"'


def with_expected_marks(scenario: Scenario) -> Scenario:
    """Return a scenario with the expected form of each queue manager and of each sender that sees marks.

    Raises
    ------
    ValueError
        For one that states none, naming it.
    """
    links = [replace(link, discipline=_discipline(link)) for link in scenario.links]
    flows = [replace(flow, source=_source(flow)) for flow in scenario.flows]
    return replace(scenario, links=tuple(links), flows=tuple(flows))


def _discipline(link: Link) -> Discipline:
    """Return the discipline of a link that marks the mean."""
    rule: Any = link.discipline
    manager = manager_of(rule)
    if manager is None:
        return link.discipline
    mean = manager.expected()
    if mean is None:
        msg = f"has no expected marks with marks = 'expected': RampMarking() and StepMarking() at departure have; {INSTEAD}"
        raise ValueError(f"discipline of link {link.name} = {manager!r}: {msg}")
    found: Discipline = mean if manager is rule else replace(rule, manager=mean)
    return found


def _source(flow: Flow) -> Any:
    """Return the sender of a flow as it changes on average."""
    source = flow.source
    mean = source.expected() if isinstance(source, RateRule) else None
    if mean is None and isinstance(source, (RateRule, WindowRule)):
        msg = f"states no expected response to marks, as DCQCN() does, for marks = 'expected'; {INSTEAD}"
        raise ValueError(f"source of flow {flow.name!r} = {source!r}: {msg}")
    return source if mean is None else mean
