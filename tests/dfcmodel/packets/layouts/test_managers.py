"""Queue managers in the arrays of the engine."""

from __future__ import annotations

from dataclasses import replace

from dfcmodel import PIE, RED, CoDel, Packets
from dfcmodel.packets.layouts.managers import (
    MANAGERS,
    called_managers,
    lay_out_called,
    lay_out_control,
    lay_out_early,
    manager_numbers,
)
from dfcmodel.packets.plans import Plan
from tests.dfcmodel.packets.conftest import Own, plan_of


def one_under(one_link, rule) -> Plan:
    """Return the plan of a flow over a link with a manager."""
    links = (replace(one_link.links[0], discipline=rule),)
    return plan_of(replace(one_link, links=links), Packets(seed=1))


def test_managers_of_the_kernel_have_rows_of_parameters(one_link) -> None:
    for rule, lay_out in ((RED(5.0, 15.0), lay_out_early), (PIE(), lay_out_control),
                          (CoDel(target=0.01), lay_out_control)):  # fmt: skip
        plan = one_under(one_link, rule)
        numbers = manager_numbers(plan)
        assert numbers[0] == MANAGERS[type(rule).on_step]
        assert numbers[1:] == [0] * (len(plan.ports) - 1)
        row = lay_out(plan, numbers)[0]
        assert (row["low"], row["high"]) == (5.0, 15.0) if rule is RED else True
        if isinstance(rule, CoDel):
            assert row["target"] == 0.01


def test_a_manager_of_a_user_is_called_by_address(one_link) -> None:
    plan = one_under(one_link, Own(part=0.25))
    numbers = manager_numbers(plan)
    assert len(called_managers(plan)) == 1
    row = lay_out_called(plan, numbers)[0]
    assert 0.25 in row["parameters"]
    assert row["kind"] == 0
