"""Z19 notices a TFRC that is as quick as TCP, and a report that the loss history misses."""

from __future__ import annotations

import dataclasses

from validation.claims.zheng2002 import responses_to_change
from validation.claims.zheng2002.loss_sweeps import REFERENCE
from validation.verdicts import Verdict


def test_a_tfrc_as_quick_as_tcp_contradicts() -> None:
    found = responses_to_change.measure()
    for name in ("down", "up"):
        quick = {**getattr(found, name), "TFRC": getattr(found, name)[REFERENCE]}
        judged = responses_to_change.judge(dataclasses.replace(found, **{name: quick}))
        assert judged[name].model is Verdict.CONTRADICTED


def test_a_tfrc_quicker_than_tcp_in_packets_contradicts() -> None:
    """The packets that it misses, or sends too many, after a step."""
    found = responses_to_change.measure()
    for name, key in (("missing", "up"), ("surplus", "down")):
        steps = getattr(found, name)
        quick = dataclasses.replace(steps[REFERENCE], value=steps[REFERENCE].value - 500.0)
        changed = dataclasses.replace(found, **{name: {**steps, "TFRC": quick}})
        assert responses_to_change.judge(changed)[key].packets is Verdict.CONTRADICTED


def test_one_report_missed_contradicts() -> None:
    found = responses_to_change.measure()
    first, replay = next(iter(found.replays.items()))
    missed = dataclasses.replace(replay, met=replay.met - 1)
    changed = dataclasses.replace(found, replays={**found.replays, first: missed})
    assert responses_to_change.judge(changed)["history"].packets is Verdict.CONTRADICTED


def test_a_shifted_interval_is_missed(doctor) -> None:
    def shift(frame):
        return frame.assign(interval=frame["interval"] + 1)

    doctor(responses_to_change.TRACE, shift, "events")
    replay = responses_to_change.replay(1)
    assert replay.met < replay.reports
