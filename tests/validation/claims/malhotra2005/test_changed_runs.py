"""Judgements of malhotra2005 notice bundled runs that were changed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from validation import Verdict
from validation.claims import find
from validation.claims.malhotra2005 import bundled, chain, levels
from validation.claims.malhotra2005.chain import Setting
from validation.verdicts import Judgement


def part(judged: dict[str, Verdict], n: int) -> Verdict:
    return list(judged.values())[n]


def whole(judged: dict[str, Verdict]) -> Verdict:
    return Verdict.all_of(judged.values())


def of_packets(judgement: Judgement) -> Verdict:
    return Verdict.all_of(sides.packets for sides in judgement.values())


def rows(frame: Any, **where: object) -> Any:
    mask = pd.Series(True, index=frame.index)
    for column, value in where.items():
        mask &= frame[column] == value
    return mask


# M02 notices a dependence on mu2.


def test_a_dependence_on_mu2_is_seen(doctor, judged) -> None:
    def shift(frame: Any) -> None:
        frame.loc[rows(frame, paused_rate=50.0), "throughput"] *= 1.01

    doctor(bundled.OFF, shift)
    assert of_packets(judged("M02")) is Verdict.CONTRADICTED


# M03 notices what would contradict it; noise decides nothing.


@pytest.mark.slow
def test_a_gain_that_falls_with_the_rtt_is_seen(doctor, process) -> None:
    def fall(frame: Any) -> None:
        at = rows(frame, arrival_rates="25 1", rtt=5.0, high_threshold=15)
        off = rows(frame, arrival_rates="25 1", rtt=5.0, high_threshold=20)
        frame.loc[at, "throughput"] = 1.01 * frame.loc[off, "throughput"].mean()

    doctor(bundled.THRESHOLDS, fall)
    assert whole(process("M03")) is Verdict.CONTRADICTED


@pytest.mark.slow
def test_noise_decides_nothing(doctor, process) -> None:
    def blur(frame: Any) -> None:
        frame["throughput_half_width"] *= 100

    doctor(bundled.THRESHOLDS, blur)
    for id in ("M03", "M06"):
        assert whole(process(id)) is Verdict.INCONCLUSIVE


def test_the_range_of_the_round_trip_time_turns_the_chains_verdict(judged) -> None:
    assert find("M03").check().turning.model == ("RTT up to 20 s",)
    assert judged("M03")["grows"].packets is Verdict.NOT_APPLICABLE


# M04 notices gains that fall with the load, and an influence of the RTT that grows.


@pytest.mark.slow
def test_a_gain_that_falls_with_the_load_is_seen(doctor, process) -> None:
    def fall(frame: Any) -> None:
        off = frame.loc[rows(frame, high_threshold=20)].groupby(["arrival_rates", "rtt"])
        throughput = off["throughput"].mean()
        on = rows(frame, high_threshold=15)
        for rates, rtt in throughput.index:
            at = on & rows(frame, arrival_rates=rates, rtt=rtt)
            gain = 0.3 - 0.06 * np.log(float(rates.split()[0]))
            frame.loc[at, "throughput"] = (1 + gain) * throughput[rates, rtt]
        frame["throughput_half_width"] /= 10

    doctor((bundled.LOAD, bundled.THRESHOLDS, bundled.GRANULARITY), fall)
    assert part(process("M04"), 0) is Verdict.HOLDS


@pytest.mark.slow
def test_an_influence_of_the_rtt_that_grows_is_seen(doctor, process) -> None:
    def grow(frame: Any) -> None:
        at = rows(frame, rtt=20.0, high_threshold=15, arrival_rates="100 1")
        frame.loc[at, "throughput"] *= 1.3

    doctor(bundled.LOAD, grow)
    assert part(process("M04"), 1) is not Verdict.HOLDS


def test_a_gain_of_tcp_that_grows_with_the_load_is_seen(doctor, judged) -> None:
    def grow(frame: Any) -> None:
        on = (frame["pause"] == "on") & (frame["rtt"] == 1.0)
        frame.loc[on, "goodput"] *= 1.0 + 1e-3 * frame["link_a"]

    doctor(bundled.LINK_A, grow)
    assert judged("M04")["gain"].packets is Verdict.CONTRADICTED


# M05 notices a cost that is slight.


def test_a_slight_fall_is_seen(doctor, process) -> None:
    def flatten(frame: Any) -> None:
        for rtt in (1.0, 5.0):
            top = frame.loc[rows(frame, rtt=rtt, low_threshold=15), "throughput"].mean()
            for low in (1, 5, 10):
                at = rows(frame, rtt=rtt, low_threshold=low)
                frame.loc[at, "throughput"] = top * (1 - 5e-4 * (15 - low))
        frame["throughput_half_width"] /= 10

    doctor(bundled.LOW_THRESHOLD, flatten)
    assert whole(process("M05")) is Verdict.HOLDS


# M06 notices an optimum where the paper has it.


def test_an_optimum_at_15_is_seen(doctor, process) -> None:
    def move(frame: Any) -> None:
        frame.loc[rows(frame, high_threshold=15), "throughput"] *= 1.1

    doctor(bundled.THRESHOLDS, move)
    assert part(process("M06"), 1) is Verdict.HOLDS


# M07 notices gains that are far apart.


@pytest.mark.slow
def test_n_3_far_below_n_2_is_seen(doctor, process) -> None:
    def shrink(frame: Any) -> None:
        for rtt in (1.0, 5.0, 20.0):
            three = rows(frame, arrival_rates="50 25 1", rtt=rtt)
            off = frame.loc[three & rows(frame, high_threshold=20), "throughput"].mean()
            frame.loc[three & (frame["high_threshold"] < 20), "throughput"] = 1.001 * off

    doctor(bundled.GRANULARITY, shrink)
    assert part(process("M07"), 0) is Verdict.HOLDS


def test_more_is_by_the_factor_asked_for() -> None:
    found = SimpleNamespace(
        pairs={(levels.HIGH, chain.RTT): (2.0, 1.5)}, within=lambda near: {1.0: near >= 1.0}
    )
    verdicts = [levels.judge(found, times=times)["more"].model for times in (1.0, 1.3, 1.4)]
    assert verdicts == [Verdict.HOLDS, Verdict.HOLDS, Verdict.CONTRADICTED]
    assert levels.judge(found)["close"].model is Verdict.HOLDS
    assert levels.judge(found, near=0.5)["close"].model is Verdict.CONTRADICTED


def test_n_4_far_from_n_3_is_seen(doctor, process) -> None:
    def far(frame: Any) -> None:
        for rates in ("50 34 17 1", "50 38 26 13 1"):
            on = rows(frame, arrival_rates=rates, high_threshold=15)
            frame.loc[on, "throughput"] *= 0.7

    doctor(bundled.LEVELS, far)
    assert part(process("M07"), 1) is not Verdict.HOLDS


# M08 notices rates that hardly matter.


def test_rates_that_hardly_matter_are_seen(doctor, process) -> None:
    """Geometric rates as linear ones, and N = 2 far above N = 3."""

    def same(frame: Any) -> None:
        off = frame.loc[rows(frame, high_threshold=20)].groupby(["arrival_rates", "rtt"])
        throughput = off["throughput"].mean()
        for rates, rtt in throughput.index:
            at = rows(frame, arrival_rates=rates, rtt=rtt, high_threshold=15)
            gain = 0.3 if rates == "50 1" else 0.1
            frame.loc[at, "throughput"] = (1 + gain) * throughput[rates, rtt]
        frame["throughput_half_width"] /= 10

    doctor((bundled.LEVELS, bundled.GRANULARITY), same)
    assert whole(process("M08")) is Verdict.HOLDS


# M09 notices a gain that stays.


def test_a_gain_that_stays_is_seen(doctor, process) -> None:
    def stay(frame: Any) -> None:
        frame.loc[rows(frame, rtt=1000.0, high_threshold=15), "throughput"] *= 1.1

    doctor(bundled.LARGE_RTT, stay)
    found = process("M09")
    assert part(found, 0) is Verdict.CONTRADICTED
    assert part(found, 1) is Verdict.HOLDS


def test_tcp_whose_gain_stays_is_seen(doctor, judged) -> None:
    """With windows of ten packets, which cannot fill the link at the longest round trip."""

    def stay(frame: Any) -> None:
        frame.loc[rows(frame, reading="window 10 packets", rtt=5.0, pause="on"), "goodput"] *= 1.05

    doctor("malhotra2005/tcp-readings", stay)
    assert judged("M09")["falls"].packets is Verdict.CONTRADICTED


# M13 notices a chain that is nearer to TCP under load.


def test_a_chain_that_is_nearer_under_load_is_seen(doctor, judged) -> None:
    def near(frame: Any) -> None:
        for load in frame["link_a"].unique():
            at = rows(frame, link_a=load, rtt=1.0)
            off = frame.loc[at & rows(frame, pause="off"), "goodput"].mean()
            gain = chain.gain(Setting((float(load), 1.0))) + 10.0 - 2.0 * np.log(load)
            frame.loc[at & rows(frame, pause="on"), "goodput"] = off * (1 + gain / 100)
            frame.loc[at, "goodput"] += 0.01 * np.random.default_rng(9).normal(size=at.sum())

    doctor((bundled.LINK_A, bundled.RANDOM_THINK), near)
    assert of_packets(judged("M13")) is Verdict.HOLDS
