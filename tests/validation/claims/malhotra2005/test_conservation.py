"""M01 notices one lost packet, and expressions that differ."""

from __future__ import annotations

import dataclasses

import pytest

from validation.claims.malhotra2005 import bundled, chain, conservation
from validation.verdicts import Verdict

R, C = Verdict.HOLDS, Verdict.CONTRADICTED


def test_one_lost_packet_breaks_the_flow_balance(doctor, judged) -> None:
    def lose(frame) -> None:
        frame.loc[3, "dropped_2"] -= 1

    doctor(bundled.LOW_THRESHOLD, lose)
    found = judged("M01")
    assert found["balance"] == (R, C)
    assert found["expressions"].model is R


def test_expressions_that_differ_are_seen() -> None:
    found = conservation.measure()

    def wrong(answer: chain.Answer) -> chain.Answer:
        one, two, three = answer.expressions
        return dataclasses.replace(answer, expressions=(one, two, three * (1 + 1e-11)))

    changed = dataclasses.replace(found, answers=tuple(map(wrong, found.answers)))
    judged = conservation.judge(changed)
    assert judged["expressions"].model is C
    assert judged["balance"].model is R


@pytest.mark.parametrize("name", ["arrivals", "sent_1", "delivered", "left_2"])
def test_every_count_of_a_run_enters_the_balance(name: str) -> None:
    counts = dict(conservation.measure().counts[0])
    assert conservation.balances(counts)
    counts[name] += 1
    assert not conservation.balances(counts)
