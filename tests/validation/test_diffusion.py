"""The findings on the DFC law itself, and that they could have come out otherwise."""

from __future__ import annotations

import pytest

from validation import Verdict, evidence, verdicts
from validation.claims.diffusion import control_delay, loaded_node, shares, unequal_delays

REAL = evidence.table


@pytest.mark.parametrize("id", ["D01", "D03", "D18", "D20"])
def test_verdicts_are_as_recorded(id: str) -> None:
    finding = verdicts.find(id).check()
    assert (finding.model, finding.simulation) == verdicts.expected()[id]
    for picture in finding.pictures:
        figure = picture.draw()
        assert all(axes.get_xlabel() for axes in figure.axes)
        assert picture.alt


def test_d01_notices_counts_that_no_packet_size_makes(monkeypatch) -> None:
    monkeypatch.setattr(control_delay, "SEVERAL_MILLION", (2e7, 9e7))
    assert verdicts.find("D01").check().parts[0].model is Verdict.CONTRADICTED


def test_d01_notices_another_delay(monkeypatch) -> None:
    monkeypatch.setattr(control_delay, "LIGHT_IN_FIBRE", 3e8)
    assert verdicts.find("D01").check().parts[1].model is Verdict.CONTRADICTED


def test_d03_notices_a_spread_that_is_not_normal(monkeypatch) -> None:
    """One side of it only, in the law and in packets."""
    for name in ("law", "packets"):
        spread = getattr(loaded_node, name)

        def skewed(*args, spread=spread):
            found = spread(*args)
            return found._replace(packets=found.packets * (found.distance >= 0))

        monkeypatch.setattr(loaded_node, name, skewed)
    part = verdicts.find("D03").check().parts[0]
    assert (part.model, part.simulation) == (Verdict.CONTRADICTED, Verdict.CONTRADICTED)


def test_d03_notices_a_variance_that_is_not_linear(monkeypatch) -> None:
    """Packets that stay where they are: the runs of 200 periods stand for those of 300."""

    def stuck(mode: str, link_rate: float = loaded_node.FAST, found=loaded_node.packets):
        spread = found(mode, link_rate)
        late = spread.packets.copy()
        late[:, 3:] = late[:, 3:4]
        return spread._replace(packets=late)

    monkeypatch.setattr(loaded_node, "packets", stuck)
    assert verdicts.find("D03").check().simulation is Verdict.CONTRADICTED


def test_d03_packets_are_all_there() -> None:
    """No packet enters or leaves the ring: those on links are D/(1+D) of the load, r fed back."""
    rows = evidence.table(loaded_node.LOADED)
    alone = rows[(rows["mode"] == "alone") & (rows["link_rate"] == loaded_node.FAST)]
    sums = alone.groupby(["seed", "time"])[["waiting", "on_link"]].sum()
    missing = 1500 - sums.sum(axis=1)  # in transmission
    assert missing.between(0, 60).all()
    # 1/11 with clocks that are out of step by up to a period: 10 % of it
    assert sums["on_link"].mean() / 1500 == pytest.approx(1 / 11, rel=0.1)


def test_d18_would_keep_its_efficiency_if_packets_said_so(monkeypatch) -> None:
    def fake(case: str, name: str | None = None):
        frame = REAL(case, name)
        if name == "flows":
            frame.loc[frame["flow"] == "target", "mean_efficiency"] = 0.5
        return frame

    monkeypatch.setattr(unequal_delays, "table", fake)
    assert verdicts.find("D18").check().simulation is Verdict.REPRODUCED


def test_d20_notices_a_link_for_the_shorter_queue(monkeypatch) -> None:
    def fake(case: str, name: str | None = None):
        frame = REAL(case, name)
        if name == "occupancy":
            swapped = {"queued_target": "queued_background", "queued_background": "queued_target"}
            frame = frame.rename(columns=swapped)
        return frame

    monkeypatch.setattr(shares, "table", fake)
    assert verdicts.find("D20").check().parts[0].simulation is Verdict.CONTRADICTED
