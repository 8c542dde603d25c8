"""TCP over pause at hopflow's packet level: endless files, and files with idle times."""

from __future__ import annotations

import pytest

from validation.claims.malhotra2005 import level, protocol


def test_goodput_and_losses_are_those_of_ns3() -> None:
    """Without pausing at an RTT of 1 s, within a hundredth and a tenth: two programs of one TCP."""
    found = level.endless(1.0, False)
    frame = protocol.evidence.table(protocol.ENDLESS).query("rtt == 1 and pause == 'off'")
    lost = (frame["dropped_1"] + frame["dropped_2"]) / frame["arrivals_1"]
    assert found.goodput.mean() == pytest.approx(frame["goodput"].mean(), rel=0.01)
    assert found.lost.mean() == pytest.approx(lost.mean(), rel=0.1)


def test_pausing_spares_losses_at_a_second() -> None:
    on, off = (level.endless(1.0, pause) for pause in (True, False))
    assert on.lost.max() < off.lost.min()
    assert level.gain(1.0).value == pytest.approx(0.4, abs=0.3)  # ns-3: 0.39 +- 0.14


def test_a_least_window_of_two_packets_gives_the_timeouts_of_ns3() -> None:
    """At an RTT of 0.1 s, where windows are two packets: ns-3's agents keep two, ns-2's Reno goes to one."""
    frame = protocol.evidence.table(protocol.ENDLESS).query("rtt == 0.1 and pause == 'off'")
    seen = (frame["timeouts"] / frame["measured_time"]).mean()
    one, ns2, two = (level.endless(0.1, False, sender) for sender in ("reno", "ns2", "two"))
    assert two.timeouts.mean() == pytest.approx(seen, rel=0.15)
    assert two.goodput.mean() == pytest.approx(frame["goodput"].mean(), rel=0.01)
    assert max(one.timeouts.mean(), ns2.timeouts.mean()) < seen / 2
    assert level.gain(0.1, "two").value > 0.0 > level.gain(0.1).value


def test_the_gain_of_files_with_idle_times_grows_as_in_ns3() -> None:
    """From 1 to 5 s, and much more than that of endless files; two programs of one TCP, within a third."""
    seen = protocol.gains(protocol.THINK)[5.0].value
    short, long = (level.idle_gain(level.Bridges(rtt)) for rtt in (1.0, 5.0))
    assert long.value == pytest.approx(seen, rel=1 / 3)
    assert long.value > 10.0 * abs(short.value)
    assert long.value > 2.0 * level.gain(5.0).value
    assert level.Bridges(5.0).off == level.Bridges(5.0, 20, 20)


def test_queue_2_asks_for_as_many_pauses_as_in_ns3() -> None:
    """Within a tenth at T2 = T1 = 15 and at T2 = 1; ns-3's messages are twice as many, with those that end a pause."""
    frame = protocol.evidence.table(protocol.LOW_THRESHOLD).query("rtt == 1")
    for low in (1, 15):
        rows = frame[frame["low_threshold"] == low]
        seen = (rows["pauses"] / rows["measured_time"]).mean()
        assert level.files(level.Bridges(1.0, 15, low)).pauses.mean() == pytest.approx(
            seen, rel=0.1
        )
