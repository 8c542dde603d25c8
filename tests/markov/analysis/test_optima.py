"""Optima of parameters, and thresholds."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from markov import PausedPort, PauseTandem, best, explore, pause_thresholds, stationary, sweep
from tests.surface import for_each

# The best value of a parameter: against closed forms, and against every value tried.


def repair(up, q):
    """Fail once per second; repair at a rate."""
    yield not up, 1.0 if up else q.repair


def profit(cost):
    """Return a machine that earns 1 per second while it works; repairs cost by their rate."""
    return explore(
        repair,
        start=True,
        params={"repair": 1.0},
        rewards=lambda up, q: {"profit": up - cost * q.repair, "cost": cost * q.repair + 0.0 * up},
        labels=lambda up, q: {"up": up},
    )


def test_an_optimum_in_an_interval_is_that_of_the_closed_form():
    """r / (1 + r) - c r is largest at r = 1 / sqrt(c) - 1."""
    found = best(profit(0.1), "repair", between=(0.1, 50.0), maximize="profit")
    assert found.value == pytest.approx(math.sqrt(10.0) - 1.0, rel=1e-5)
    assert found.objective.value == pytest.approx((1.0 - math.sqrt(0.1)) ** 2, rel=1e-12)
    assert not found.certain


def test_a_limit_that_binds_is_met_to_within_a_billionth():
    """Working at least 0.8 of the time needs r >= 4."""
    found = best(
        profit(0.1),
        "repair",
        between=(0.1, 50.0),
        maximize="profit",
        subject_to={"up": (0.8, None)},
    )
    assert found.value == pytest.approx(4.0, rel=1e-7)
    assert found.table.up.sel(repair=found.value) >= 0.8


def test_the_best_of_given_values_is_that_of_a_sweep():
    data = sweep(PauseTandem(), high_threshold=range(2, 21))
    found = best(PauseTandem(), "high_threshold", among=range(2, 21), maximize="throughput")
    assert found.value == data.throughput.idxmax("high_threshold")
    assert found.certain
    assert found.rivals == ()
    np.testing.assert_allclose(found.table.throughput, data.throughput, rtol=1e-13)
    assert (found.table.lower <= found.table.throughput).all()
    assert found.answer.throughput == pytest.approx(found.objective.value, rel=1e-14)


def test_strings_are_numbers_in_the_unit_of_the_parameter() -> None:
    texts = best(PauseTandem(), "rtt", among=["1s", "2s", "500ms"], maximize="throughput")
    numbers = best(PauseTandem(), "rtt", among=[1.0, 2.0, 0.5], maximize="throughput")
    assert (texts.value, texts.objective) == (numbers.value, numbers.objective)
    assert texts.table.rtt.values.tolist() == [1.0, 2.0, 0.5]
    assert texts.table.rtt.attrs == {"units": "s"}
    inside = best(PauseTandem(), "rtt", between=("500ms", "2s"), maximize="throughput")
    assert inside.value == best(PauseTandem(), "rtt", between=(0.5, 2), maximize="throughput").value


def test_a_limit_excludes_values():
    limit = {"pause_fraction": (None, 0.4), "loss_rate[0]": (0.1, None)}
    found = best(
        PauseTandem(),
        "high_threshold",
        among=range(2, 21),
        maximize="throughput",
        subject_to=limit,
    )
    table = found.table
    allowed = (table["pause_fraction"] <= 0.4) & (table["loss_rate[0]"] >= 0.1)
    assert (table.allowed == allowed).all()
    assert found.value == table.throughput.where(allowed).idxmax()


def test_values_that_bounds_cannot_tell_apart_are_rivals():
    """The loss probability of M/M/1/K depends on the ratio of the rates alone."""
    model = explore(
        lambda n, q: [*([(n + 1, q.x)] if n < 3 else []), *([(n - 1, q.x)] if n > 0 else [])],
        start=0,
        params={"x": 1.0},
        labels=lambda n: {"full": n == 3},
    )
    found = best(model, "x", among=[1.0, 2.0, 4.0], minimize="full")
    assert len(found.rivals) == 2
    assert not found.certain


def test_the_smallest_is_found_too():
    found = best(profit(0.1), "repair", among=[0.3, 0.1, 0.2], minimize="cost")
    assert found.value == 0.1


def test_the_table_of_a_result_says_what_was_tried():
    found = best(PauseTandem(), "high_threshold", among=[15, 18], maximize="throughput")
    assert found.summary()["values tried"] == "2, 2 allowed"
    assert len(found.plot().lines) == 3
    assert "high_threshold" in repr(found)


# Recommended pause thresholds: what the chains at each threshold say.


PORT = PausedPort(link_rate=100.0, bottleneck_rate=15.0, rtt=1.0, buffers=(10, 20))


def test_each_row_of_the_table_is_the_chain_of_its_threshold():
    found = pause_thresholds(PORT, load=2.0, levels=(3,), thresholds=(12,))
    model = PauseTandem(high_threshold=12, paused_rate=0.0, arrival_rates=(30.0, 15.0, 10.0), rtt=1.0)
    answer, row = stationary(model), found.table.sel(levels=3, threshold=12)
    assert float(row.throughput) == pytest.approx(answer.throughput, rel=1e-13)
    offered = answer["effective_rate"][0] + answer["loss_rate"][0]
    assert float(row.loss_probability) == pytest.approx(answer["loss_rate"].sum() / offered)
    assert float(row.delay) == pytest.approx(answer["mean_queue"].sum() / answer.throughput)
    assert list(found.table.threshold) == [12, 20]


def test_the_range_keeps_throughput_and_leaves_room_for_late_messages():
    found = pause_thresholds(PORT, levels=(2, 4), within=0.003, response=0.02)
    assert found.ceiling == 18  # two packets arrive in 0.02 s
    table = found.table.sel(threshold=found.table.threshold <= found.ceiling)
    good = (table.throughput >= 0.997 * table.throughput.max("threshold")).all("levels")
    np.testing.assert_array_equal(table.recommended, good)
    assert found.high == 18
    assert found.low == int(table.threshold.where(good).min())
    assert {model.params.high_threshold for model in found.models} == {found.high}


def test_the_largest_allowed_threshold_counts_as_the_best_one():
    """Throughput grows with the threshold here, so that the ceiling alone keeps all of it."""
    found = pause_thresholds(PORT, levels=(2,), thresholds=(16, 17, 18), within=1e-9, response=0.02)
    assert found.ceiling == 18
    assert (np.diff(found.table.throughput.sel(threshold=[16, 17, 18], levels=2)) > 0.0).all()
    assert (found.low, found.high) == (18, 18)


def test_as_many_pauses_begin_as_end():
    """Pauses per second by flow balance: each begun pause ends, by the release at T2."""
    answer = stationary(PauseTandem(high_threshold=15, low_threshold=11))
    s, q = answer.states, answer.chain.model.params
    released = q.bottleneck_rate * answer.pi[(s.k == 2) & (s.j == 11)].sum()
    assert answer["pause_rate"] == pytest.approx(released, rel=1e-12)


def test_a_table_a_picture_and_units():
    found = pause_thresholds(PORT, levels=(2,), thresholds=(10, 15))
    assert "recommended threshold" in found.summary()
    assert len(found.plot().lines) == 1
    assert found.table.delay.attrs["units"] == "s"


def test_the_change_of_throughput_is_said_at_both_ends_of_the_range():
    """Also where it is a loss, which the best threshold of the range hides."""
    found = pause_thresholds(PORT, levels=(2, 4), thresholds=(8, 14, 19), within=0.3)
    assert (found.low, found.high) == (8, 19)
    change = 100.0 * (found.table.throughput / found.table.throughput.sel(threshold=20) - 1.0)
    at = {n: sorted(change.sel(threshold=n).to_numpy()) for n in (8, 19)}
    assert at[8][1] < 0.0 < at[19][0]
    said = ", ".join(f"by {low:+.2f} to {high:+.2f} % at {n}" for n, (low, high) in at.items())
    assert found.summary()["pausing changes"] == f"throughput {said}, against no pauses"


def test_that_pausing_changes_hardly_anything_is_said_of_the_whole_range():
    found = pause_thresholds(PORT, load=0.4, levels=(2, 3), thresholds=(18, 19))
    assert found.summary()["pausing changes"].endswith("against no pauses: hardly any")
    table = found.table.copy(deep=True)
    table.throughput.loc[{"threshold": 18}] *= [1.0 - 4e-4, 1.0 + 1e-5]
    said = dataclasses.replace(found, table=table).summary()["pausing changes"]
    assert said.startswith("throughput by -0.04 to 0.00 % at 18, by 0.00 % at 19, against")


def test_one_level_stands_for_senders_that_do_not_react() -> None:
    port = dataclasses.replace(PORT, rtt=None)
    found = pause_thresholds(port, levels=(1,), load="80%", thresholds=(12,))
    slow = dataclasses.replace(PORT, rtt=7.0)
    assert found.table.equals(pause_thresholds(slow, levels=(1,), load="80%", thresholds=(12,)).table)
    with pytest.raises(ValueError, match=r"rtt = None: must be given with levels = \(1, 2\)"):
        pause_thresholds(port, levels=(1, 2))
    (model,) = found.models
    assert model.arrival_rates == (0.8 * model.bottleneck_rate,)
    alone = stationary(model.replace(high_threshold=12)).throughput
    assert float(found.table.throughput.sel(threshold=12, levels=1)) == pytest.approx(alone, rel=1e-9)


def test_percentages_are_parts_of_the_ports_buffer():
    found = pause_thresholds(PORT, levels=(2,), thresholds=("50%", "78%", "90 %", "12pkt"))
    assert found.table.threshold.values.tolist() == [10, 12, 15, 18, 20]
    assert "several percentage points" in found.summary()["error of the model"]
    assert "lost (%) " in found.summary()["no pauses"]
    with pytest.raises(ValueError, match=r"^thresholds = '80 perc'"):
        pause_thresholds(PORT, thresholds=("80 perc",))


@for_each(
    [
        ({"response": 0.5}, "50 packets arrive before a pause takes effect"),
        ({"levels": (0,)}, "levels = 0"),
        ({"load": 80}, r"load = 80: .* <= 10; over the bottleneck's rate; '80%' is 0.8"),
        ({"levels": 2}, "levels = 2"),
        ({"levels": np.array(2)}, "levels = array"),
        ({"levels": [2, [3, 4]]}, r"levels = \[3, 4\]: must be a whole number"),
        ({"levels": b"x"}, "levels = b'x'"),
        ({"levels": []}, "at least one"),
        ({"thresholds": (25,)}, "thresholds = 25"),
        ({"thresholds": ("125%",)}, "thresholds = 25"),
        ({"within": 0.0}, "within = 0"),
        (
            {"most_loss": 1e-9, "thresholds": (15,), "levels": (1,), "load": 0.9},
            r"most_loss = 1e-09, within = 0.01: .* least loss is 0\.0\d+, at 15",
        ),
        (
            {"most_loss": 0.1, "levels": (1, 2)},
            r"most_loss = 0.1: must be None with levels = \(1, 2\): .* not those of TCP; count them in packets",
        ),
    ]
)
def test_bad_input_of_thresholds_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        pause_thresholds(PORT, **change)


@for_each(
    [
        ({"bottleneck_rate": 200.0}, "bottleneck_rate = 200"),
        ({"rtt": 5000.0}, "rtt = 5000"),
        ({"rtt": 0.0}, "rtt = 0"),
        ({"buffers": 20}, "buffers = 20"),
        ({"buffers": [20, [60, 70]]}, r"buffers = \[20, \[60, 70\]\]: must be two numbers"),
        ({"buffers": (6.5, 17)}, r"buffers\[0\] = 6.5: must be a whole number"),
    ]
)
def test_bad_input_of_a_paused_port_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(PORT, **change)


def test_the_keywords_of_a_port_work_for_another_release() -> None:
    new = pause_thresholds(PORT, levels=(2,), thresholds=(12,))
    with pytest.warns(DeprecationWarning, match=r"write pause_thresholds\(port=PausedPort\(link_rate=100.0"):
        old = pause_thresholds(**dataclasses.asdict(PORT), levels=(2,), thresholds=(12,))
    assert old.table.equals(new.table)
    with pytest.raises(TypeError, match="port and rtt were given"):
        pause_thresholds(port=PORT, rtt=1.0)


def test_a_threshold_without_headroom_is_refused_with_the_reason() -> None:
    port = PausedPort(link_rate="10Gbps", bottleneck_rate="5Gbps", rtt="200us", buffers=(20, 20))
    with pytest.raises(
        ValueError,
        match=r"thresholds = 20.*in 1\.\.\d+ \(\d+ of 20 packets arrive until a pause takes",
    ):
        pause_thresholds(port, response="2us", thresholds=(10, 20))


def test_a_threshold_is_not_called_safe_without_a_response_time() -> None:
    port = PausedPort(link_rate=1e4, bottleneck_rate=5e3, rtt=2e-4, buffers=(5, 10))
    without, given = (
        str(
            pause_thresholds(port, response=response, levels=(2,), thresholds=(5, 8)).summary()[
                "highest safe threshold"
            ]
        )
        for response in (0.0, 2e-4)
    )
    assert without.startswith("9, only if a pause takes effect within one packet: response=")
    assert given == "8 (2 packets arrive before a pause takes effect)"


def test_a_low_threshold_that_loses_several_times_as_much_is_named() -> None:
    port = PausedPort(link_rate="10Gbps", bottleneck_rate="5Gbps", buffers=(50, 200))
    limits = {"levels": (1,), "load": "98%", "thresholds": (14, 194)}
    found = pause_thresholds(port, **limits)
    loss = found.table.loss_probability.isel(levels=0)
    times = float(loss.sel(threshold=14) / loss.sel(threshold=200))
    assert found.low == 14
    assert f"at 14 up to {times:.3g} times" in found.summary()["more is lost"]
    assert found.summary()["more is lost"].endswith("; most_loss= limits it")
    assert "losses are" not in found.summary()
    assert "more is lost" not in pause_thresholds(port, **limits, most_loss=1e-3).summary()


def test_losses_of_the_chain_are_said_not_to_be_those_of_tcp() -> None:
    """Beside the losses; in packets a low threshold loses more of TCP than no pauses, in the chain less."""
    from dfcmodel import FIFO, Flow, Link, Packets, Pause, Scenario, simulate
    from responsefn import NewReno

    port = PausedPort(link_rate="10Gbps", bottleneck_rate="5Gbps", rtt="200us", buffers=(20, 60))
    advice = pause_thresholds(port, response="6.86us", thresholds=(30,))
    rows = list(advice.summary())
    assert rows.index("losses are") == rows.index("no pauses") + 1
    assert "not of TCP" in str(advice.summary()["losses are"])

    def lost(rule: FIFO | Pause) -> float:
        links = [Link(f"host{n}", "a", "10Gbps", "20us", 1000) for n in range(4)]
        links += [
            Link("a", "b", "10Gbps", "0.5us", 20),
            Link("b", "c", "5Gbps", "40us", 60, rule),
        ]
        flows = [Flow(f"tcp{n}", (f"host{n}", "a", "b", "c"), NewReno(), max_window=1000) for n in range(4)]
        tandem = Scenario("tandem", links, flows, duration=0.2, min_rto=0.01)
        run = simulate(tandem, Packets(recovery="rack"), packet_jitter="1pkt", seed=0)
        return float(run.lost.sum() / (run.lost.sum() + run.delivered[:, -1].sum()))

    assert lost(Pause(high=30, low=25)) > 1.1 * lost(FIFO())
    chain = advice.table.loss_probability
    assert (chain.sel(threshold=30) < 0.9 * chain.sel(threshold=60)).all()


def test_a_range_with_more_losses_than_without_pauses_is_that_of_the_chain() -> None:
    port = PausedPort(link_rate="10Gbps", bottleneck_rate="5Gbps", rtt="200us", buffers=(50, 200))
    found = pause_thresholds(port, levels=(1, 2), load=0.98, thresholds=(14,))
    assert str(found.summary()["more is lost"]).endswith("without pauses; in this chain")


def test_thresholds_take_sizes_in_bytes_as_whole_packets_that_fit() -> None:
    """10 kB are 6.7, 25.5 kB 17 and 20 kB 13.3 packets of 1500 bytes."""
    in_bytes = dataclasses.replace(PORT, buffers=("10 kB", "25.5kB"))
    in_packets = dataclasses.replace(PORT, buffers=(6, 17))
    assert in_bytes == in_packets
    sizes = pause_thresholds(in_bytes, levels=(2,), thresholds=["20kB", "50%"])
    packets = pause_thresholds(in_packets, levels=(2,), thresholds=[13, 8])
    assert sizes.models == packets.models
    np.testing.assert_array_equal(sizes.table.threshold, packets.table.threshold)


def test_thresholds_of_a_large_buffer_are_refused_before_work_with_a_way_out() -> None:
    port = {"link_rate": "40Gbps", "bottleneck_rate": "10Gbps", "rtt": "1ms"}
    message = r"buffers = \(200, 8000\): 1.29e\+07 states .* must be at most 4e\+06; write buffers=\(61, 8000\)"
    with pytest.raises(ValueError, match=message):
        pause_thresholds(PausedPort(**port, buffers=(200, "12MB")))
    with pytest.raises(ValueError, match="write fewer levels, or packets of more bytes"):
        pause_thresholds(PausedPort(**port, buffers=(2, 500_000)))
