"""`compare` of rules: order, books of the shares, exponents, display; what else it compares."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import hopflow
from dfcmodel import CBR, FIFO, PIE, RED, CoDel, Flow, PathOptions, Scenario, StepMarking, chain, compare, simulate
from dfcmodel.sharing.bottlenecks import Bottleneck
from dfcmodel.sharing.comparisons import compare_rules
from markov import MM1K, stationary
from responsefn import BBR, CUBIC, DCTCP, NewReno, Reno, Scalable, Westwood
from tests.option_objects import grouped

PATH = {"bandwidth": 2000.0, "rtt": 0.04, "buffer": 80, "duration": 40.0}


@pytest.fixture(scope="module")
def found():
    return compare([NewReno(), CUBIC()], runs=4, **grouped(compare, PATH))


def test_arrays_are_in_the_order_of_the_call_and_the_table_has_the_largest_share_first(found) -> None:
    """RFC 9438: CUBIC gets more than Reno at 80 ms with the queue full and 24 Mb/s."""
    other = compare([CUBIC(), NewReno()], runs=4, **grouped(compare, PATH))
    for result, order in ((found, [1, 0]), (other, [0, 1])):
        assert [result.rules[n] for n in order] == [CUBIC(), NewReno()] == [*result.ranking]
        assert result.share[order[0], order[1]] > 0.5 > result.share[order[1], order[0]]
        assert result.against_others[order[0]] > 0.5 > result.against_others[order[1]]
        rows = [name for name in result.summary() if name[0].isdigit()]
        assert rows == ["1. CUBIC()", "2. NewReno()"]
        assert result.plot().get_yticklabels()[0].get_text() == "CUBIC()"
        ranks = result.to_xarray()["rank"]
        assert [int(ranks.sel(rule=name)) for name in ("CUBIC()", "NewReno()")] == [1, 2]
    np.testing.assert_array_equal(found.rate, other.rate[::-1])  # of one flow, the same seeds


SLOW_PATH = {"bandwidth": "50Mbps", "rtt": "40ms", "buffer": 8 * 166}


def test_shares_that_still_drift_are_named_or_simulated_for_longer() -> None:
    """BBR beside CUBIC at a buffer of 8 BDP gains for minutes: its share after 30 s is no result."""
    rules = [BBR(), CUBIC()]
    short = compare(rules, **SLOW_PATH, runs=4, options=PathOptions(duration=20))
    assert short.drifting[0, 1]
    assert not short.settled[0, 1]
    assert (short.durations == 20.0).all()
    assert not short.drifting[1, 1]
    assert "BBR() and CUBIC()" in str(short.summary()["settled"]).partition("drifting: ")[2]
    assert short.caveats[-1].startswith("drifting")
    prolonged = compare_rules(rules, short.path, runs=4, prolong=True)
    assert prolonged.durations[0, 1] > 20.0
    assert prolonged.durations[1, 1] == 20.0
    assert prolonged.share[0, 1] > short.share[0, 1]
    assert not prolonged.drifting[0, 1] or prolonged.durations[0, 1] == 80.0
    data = prolonged.to_xarray()
    np.testing.assert_array_equal(data.settled, prolonged.settled)
    np.testing.assert_array_equal(data.drifting, prolonged.drifting)
    np.testing.assert_array_equal(data.durations, prolonged.durations)


def test_neighbouring_seeds_share_no_run_and_a_generator_draws_the_seed() -> None:
    path = {"bandwidth": 500.0, "rtt": 0.04, "buffer": 20, "duration": 5.0, "loss": 0.01}
    runs = []
    for seed in (0, 1, 0):
        with pytest.MonkeyPatch.context() as patch:
            used = []
            run = Bottleneck.run
            patch.setattr(
                Bottleneck,
                "run",
                lambda self, *a, seed, u=used, r=run, **k: (u.append(seed), r(self, *a, seed=seed, **k))[1],
            )
            compare([NewReno()], runs=4, **grouped(compare, path, seed=seed))
        runs.append(set(used))
    assert runs[0] == runs[2]
    assert not runs[0] & runs[1]
    assert len(runs[0]) == 4  # all settings have the same seeds
    generator = np.random.default_rng(3)
    first, second = (compare([NewReno()], runs=2, **grouped(compare, path, seed=generator)) for _ in range(2))
    assert first.rate[0] != second.rate[0]


def test_a_rank_says_which_ties_the_intervals_exclude(found) -> None:
    """The largest mean share against the others may lose a pair."""
    share = np.array([[0.6, 0.48, 0.9], [0.52, 0.6, 0.7], [0.1, 0.3, 0.6]])

    def ranked(half):
        widths = np.full((3, 3), half)
        result = replace(found, rules=(NewReno(), CUBIC(), Reno()), share=share, share_half_width=widths)
        return result._order, result.rank_range.tolist()

    assert ranked(0.01) == ([0, 1, 2], [[2, 1, 3], [2, 1, 3]])
    assert ranked(0.05) == ([0, 1, 2], [[1, 1, 3], [2, 2, 3]])
    assert ranked(np.nan) == ([0, 1, 2], [[1, 1, 1], [3, 3, 3]])


FLAGS = "settled", "alone_settled", "rtt_exponent_settled"


def test_settled_is_said_where_it_is_shown(found) -> None:
    assert (
        "numbers are, with the word behind them: the mean of other seeds at four times the duration"
        in found.summary()["settled"]
    )
    for value, count in ((True, 6), (False, 0)):  # of each rule its share, its rate alone and its exponent
        rows = replace(found, **{name: np.full_like(getattr(found, name), value) for name in FLAGS}).summary()
        assert sum(str(text).count("settled") for name, text in rows.items() if name[0].isdigit()) == count
        assert str(rows["settled"]).startswith(f"{7 if value else 0} of 7")


def test_compare_without_a_duration_prolongs(monkeypatch) -> None:
    passed = []
    monkeypatch.setattr("dfcmodel.comparing.compare_rules", lambda rules, path, **options: passed.append(options))
    compare([BBR()], **SLOW_PATH)
    compare([BBR()], **SLOW_PATH, options=PathOptions(duration="60s"))
    assert [options["prolong"] for options in passed] == [True, False]


def test_a_sweep_of_compare_takes_every_option_of_it() -> None:
    path = {"bandwidth": 500.0, "rtt": 0.04, "buffer": 20}
    data = hopflow.sweep(compare, rules=[CUBIC(), NewReno()], duration=["5s", "10s"], loss=0.0, runs=1, **path)
    assert data.duration.to_numpy().tolist() == [5.0, 10.0]
    alone = compare([CUBIC(), NewReno()], runs=1, **grouped(compare, path, duration=10.0))
    np.testing.assert_array_equal(data.share.sel(duration=10.0), alone.share)
    with pytest.raises(ValueError, match=r"duratoin: .* has no such parameter, but .* duration"):
        hopflow.sweep(compare, rules=[CUBIC()], duratoin=5.0, **path)


@pytest.mark.parametrize(
    ("buffer", "coordinates", "units"),
    [
        (["0.5BDP", "1 bdp"], [0.5, 1.0], "BDP"),
        (["15kB", "30kB"], [10.0, 20.0], "packets"),
        ("1BDP", None, None),
        ("30kB", None, None),
    ],
)
def test_a_sweep_takes_the_buffers_that_a_call_takes(buffer, coordinates, units) -> None:
    """Values with units, swept or the same everywhere: 24 Mb/s times 10 ms are 20 packets."""
    path = {"bandwidth": "24Mbps", "rtt": "10ms", "duration": 2.0, "loss": 0.001, "seed": 3}
    rules = [NewReno()]
    swept = isinstance(buffer, list)
    data = hopflow.sweep(compare, rules=rules, buffer=buffer, runs=1, **path)
    flows = hopflow.sweep(rules, buffer=buffer, runs=1, **path)
    for n, size in enumerate(buffer if swept else [buffer]):
        expected = compare(rules, buffer=size, runs=1, **grouped(compare, path))
        assert expected.path.buffer == (10, 20)[n if swept else 1]
        np.testing.assert_array_equal(
            np.ravel(data.share.isel(buffer=n) if swept else data.share), np.ravel(expected.share)
        )
    packets = hopflow.sweep(rules, buffer=[10, 20] if swept else 20, runs=1, **path)
    np.testing.assert_array_equal(flows.rate, packets.rate)
    if swept:
        assert data.buffer.values.tolist() == flows.buffer.values.tolist() == coordinates
        assert data.buffer.units == flows.buffer.units == units


@pytest.mark.parametrize("buffer", [["1BDP", 20], ["1BDP", "xBDP"], "0BDP"])
def test_buffers_of_a_sweep_that_are_no_products_are_refused(buffer) -> None:
    path = {"bandwidth": 2000.0, "rtt": 0.01, "duration": 2.0, "runs": 1, "buffer": buffer, "loss": [0.0]}
    for call in (lambda: hopflow.sweep(compare, rules=[NewReno()], **path), lambda: hopflow.sweep([NewReno()], **path)):
        with pytest.raises(ValueError, match=r"buffer = .*BDP"):
            call()


def test_shares_of_a_pair_add_up_to_one(found) -> None:
    np.testing.assert_allclose(found.share[0, 1] + found.share[1, 0], 1.0, rtol=1e-12)
    assert (np.diag(found.share) >= 0.5).all()
    assert ((found.jain > 0.5) & (found.jain <= 1.0)).all()


def test_long_round_trips_get_less_by_an_exponent_between_those_of_theory(found) -> None:
    """Between 1, at the same loss rate, and 2, synchronized (`rtt_unfairness`), less the queue's delay.

    Which of Reno and CUBIC is less fair depends on the seeds: with eight runs their intervals overlap.
    """
    assert ((found.rtt_exponent > 0.5) & (found.rtt_exponent < 2.0)).all()


def test_it_shows_its_caveats(found) -> None:
    shown = " ".join(repr(found).split())  # long rows continue below
    assert all(" ".join(text.split()) in shown for text in found.caveats)
    assert "<img" in found._repr_html_()
    data = found.to_xarray()
    assert data.share.sel(rule="CUBIC()", against="NewReno()") == found.share[1, 0]
    assert data.attrs["buffer"] == 80


@pytest.mark.parametrize(
    ("settings", "named"),
    [({}, ""), ({"pacing": True}, ", paced senders"), ({"packet_size": 9000.0}, ", packets of 9000 bytes"),
     ({"packet_size": 576.0, "pacing": True}, ", packets of 576 bytes, paced senders")],
)  # fmt: skip
def test_the_path_names_settings_of_senders_that_are_not_the_defaults(found, settings: dict, named: str) -> None:
    shown = replace(found, path=replace(found.path, **settings)).summary()["path"]
    bits = {576.0: "9.216 Mb/s", 9000.0: "144 Mb/s"}.get(settings.get("packet_size", 0.0), "24 Mb/s")
    assert (
        shown
        == f"2000 packets/s ({bits}), rtt 0.04 s, buffer 80 packets (40 ms), FIFO(), random loss 0{named}; 8 .. 40 s"
    )


@pytest.mark.parametrize(
    ("changed", "part"),
    [({"bandwidth": -1.0}, "bandwidth"), ({"rtt": 40.0}, "rtt"), ({"buffer": 0}, "buffer"),
     ({"loss": 1.0}, "loss"), ({"runs": 0}, "runs"), ({"warm_up": 50.0}, "warm_up")],
)  # fmt: skip
def test_a_wrong_parameter_is_named(changed, part: str) -> None:
    with pytest.raises(ValueError, match=part):
        compare([Reno()], **grouped(compare, PATH | changed))


def test_a_run_too_short_for_any_rate_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^duration = 0\.04: with warm_up = .* to deliver a packet"):
        compare([Reno()], **grouped(compare, PATH | {"duration": 0.04}))


def test_a_path_whose_losses_stop_all_flows_says_so() -> None:
    with pytest.raises(ValueError, match=r"^duration = 5, loss = 0\.9: .*nothing"):
        compare(
            [NewReno()],
            bandwidth="10Mbps",
            rtt="40ms",
            buffer=33,
            runs=1,
            options=PathOptions(loss=0.9, duration=5.0, seed=1),
        )


def test_one_rule_alone_has_no_others() -> None:
    alone = compare([Reno()], runs=1, **grouped(compare, PATH))
    assert np.isnan(alone.against_others).all()
    assert alone.rate[0] > 0.9 * 2000.0


def test_a_managed_queue_keeps_its_delay_for_every_rule(found) -> None:
    """PIE holds its target of 5 ms under two flows; the drop-tail queue of 40 ms is full at its peaks."""
    managed = compare([NewReno(), CUBIC()], runs=2, **grouped(compare, PATH, discipline=PIE(target=0.005)))
    assert (managed.delay < 0.006).all()
    assert (found.delay > 2.0 * managed.delay).all()
    assert "PIE" in repr(managed)


def test_dctcp_runs_where_the_queue_marks() -> None:
    """Two flows of it share equally, at half the threshold's delay or less, and lose nothing."""
    marked = compare([DCTCP()], runs=2, **grouped(compare, PATH, discipline=StepMarking(20.0)))
    assert marked.loss[0] == 0.0
    assert marked.delay[0] < 20.0 / PATH["bandwidth"]
    assert marked.jain[0] > 0.95
    with pytest.raises(ValueError, match="answers congestion marks"):
        compare([DCTCP()], **grouped(compare, PATH, discipline=CoDel()))


def test_the_path_may_be_given_with_units() -> None:
    path = {"bandwidth": "6Mbps", "rtt": "40ms", "buffer": "20pkt", "duration": "5s"}
    texts = compare([NewReno()], runs=1, **grouped(compare, path)).path
    numbers = {"bandwidth": 500.0, "rtt": 0.04, "buffer": 20, "duration": 5.0}
    assert {name: getattr(texts, name) for name in numbers} == numbers


def test_one_run_has_no_interval_and_shows_none() -> None:
    alone = compare([NewReno()], runs=1, **grouped(compare, PATH))
    assert np.isnan(alone.rate_half_width).all()
    assert "nan" not in repr(alone)
    assert "±" not in repr(alone).partition("caveat")[0]


def test_shares_are_between_none_and_all_and_undecided_ones_are_grey() -> None:
    """Two seeds have one degree of freedom: half an interval is 12.7 standard errors."""
    found = compare([NewReno(), CUBIC()], runs=2, **grouped(compare, PATH | {"duration": 5.0}))
    wide = replace(found, share_half_width=np.array([[0.1, 0.84], [0.84, 0.1]]))
    low, high = wide.share_interval
    assert (low >= 0.0).all()
    assert (high <= 1.0).all()
    assert np.diag(low).min() >= 0.5  # the larger of two
    np.testing.assert_array_equal(low[0, 1], 1.0 - high[1, 0])
    np.testing.assert_array_equal(wide.undecided, [[False, True], [True, False]])
    texts = [text.get_text() for text in wide.plot().texts]
    assert texts[1].split("\n")[1] == "(0 .. 100)"
    narrow = replace(found, share=np.array([[0.6, 0.7], [0.3, 0.6]]), share_half_width=0.01 * np.ones((2, 2)))
    assert not narrow.undecided.any()
    image = narrow.plot().images[0].get_array()
    assert not np.ma.getmaskarray(image).any()
    assert np.ma.getmaskarray(wide.plot().images[0].get_array()).sum() == 2
    assert np.isfinite(found.rtt_exponent_half_width).all()
    data = wide.to_xarray()
    np.testing.assert_array_equal(data.undecided, wide.undecided)
    np.testing.assert_array_equal(data.wide, wide.wide)
    assert (data.share_low >= 0.0).all()
    assert "rtt_exponent_half_width" in data
    unknown = replace(found, rate_prediction_half_width=np.array([1e5, 1e5]))
    assert "(single runs 0 .. " in repr(unknown)  # a rate is not negative


def test_a_rate_above_the_paths_is_explained() -> None:
    """CUBIC's gap of the first slow start closes after a warm-up of half a second."""
    path = {"bandwidth": 2500.0 / 3.0, "rtt": 0.02, "buffer": 20, "runs": 2, "seed": 7}
    short = compare([CUBIC()], **grouped(compare, path, duration=2.0, warm_up=0.5))
    assert short.rate[0] > short.path.bandwidth
    (number,) = [n for n, text in enumerate(short.caveats, 1) if text.startswith("a rate above the path's")]
    rows = [str(row) for name, row in short.summary().items() if "caveat" not in name]
    assert sum(f"packets/s (caveat {number})" in row for row in rows) == (short.rate > short.path.bandwidth).sum()
    longer = compare([CUBIC()], **grouped(compare, path, duration=8.0, warm_up=2.0))
    assert not any("above the path's" in text for text in longer.caveats)


def test_seeds_are_added_until_intervals_are_narrow(found) -> None:
    """Settings stop from four seeds on, at an interval of five points; the others are named and framed."""
    more = compare([NewReno(), CUBIC()], runs=5, **grouped(compare, PATH | {"duration": 20.0}))
    assert ((more.seeds >= 4) & (more.seeds <= 5)).all()
    assert (more.seeds[more.wide] == 5).all()
    assert (more.alone_seeds >= 4).all()
    low, high = more.share_interval
    assert (high - low <= 2.0 * more.share_half_width + 1e-12).all()
    said = " ".join(repr(more).split())
    assert ("wider than that after 5" in said) == bool(more.wide.any())
    frames = [each for each in more.plot().patches if each.get_linestyle() == "--"]
    assert len(frames) == more.wide.sum()
    two = compare([NewReno()], runs=2, **grouped(compare, PATH | {"duration": 5.0}))
    assert (two.seeds == 2).all()  # the budget, below four


def test_intervals_of_runs_that_agree_are_not_narrower_than_what_four_runs_can_show() -> None:
    """Two Westwood: one run in twenty-five has a larger share of 0.55, all others 0.5015; its mean over 1,000 seeds is 0.5051."""
    path = {"bandwidth": 2090.0, "rtt": 0.057, "buffer": 118, "duration": 100.0}
    agreed = compare([Westwood()], runs=4, **grouped(compare, path))
    assert agreed.share[0, 0] + agreed.share_half_width[0, 0] > 0.5051
    assert agreed.share_half_width[0, 0] >= 0.005
    assert agreed.share_prediction_half_width[0, 0] >= 0.01
    assert agreed.rate_half_width[0] >= 2.09


def test_four_runs_do_not_exclude_timeouts_where_a_queue_drops_at_random() -> None:
    """Scalable alone with RED: 15 % of the runs have a timeout; the mean of 1,000 seeds is 1152.13 packets/s.

    The first four runs of these three seeds are equal, 1155.5. A queue without random drops needs no more.
    """
    path = {"bandwidth": 1155.54, "rtt": 0.0498, "buffer": 20, "duration": 60.0, "runs": 16}
    for seed in (0, 3, 4):
        alone = compare([Scalable()], **grouped(compare, path | {"discipline": RED(), "seed": seed}))
        assert alone.alone_seeds[0] == 32
        assert abs(alone.rate[0] - 1152.13) <= alone.rate_half_width[0]
    few = compare([Scalable()], **grouped(compare, path | {"discipline": RED(), "runs": 1, "duration": 10.0}))
    assert few.alone_seeds[0] == 1
    for queue in (CoDel(), FIFO()):
        path |= {"discipline": queue, "duration": 10.0}
        assert compare([Scalable()], **grouped(compare, path)).alone_seeds[0] <= 16


def test_a_larger_budget_begins_with_the_same_seeds() -> None:
    few, many = (compare([Reno()], runs=runs, **grouped(compare, PATH | {"duration": 10.0})) for runs in (4, 12))
    assert many.alone_seeds[0] == 4  # one flow fills the path: nothing to add
    assert few.rate[0] == many.rate[0]


# Kinds of things that are compared.

SHORT_PATH = {"bandwidth": 500.0, "rtt": 0.04, "buffer": 20, "duration": 5.0, "runs": 1}


@pytest.fixture(scope="module")
def run():
    links = chain(2, rate=1e4, delay=1e-3, buffer=20)
    return simulate(Scenario("s", links, [Flow("a", (1, 2), CBR(2e4))], duration=0.05), level="fluid")


def test_rules_one_after_another_are_those_of_a_list() -> None:
    assert hopflow.compare is compare
    assert repr(compare(NewReno(), CUBIC(), **grouped(compare, SHORT_PATH))) == repr(
        compare([NewReno(), CUBIC()], **grouped(compare, SHORT_PATH))
    )


def test_equal_runs_have_labels_of_their_own(run) -> None:
    assert list(compare(run, run, seed=run).compared) == [
        "s: FIFO, CBR, fluid (1)", "s: FIFO, CBR, fluid (2)", "seed",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("call", "error", "part"),
    [(lambda run: compare(run), ValueError, "number of runs = 1"),
     (lambda run: compare(run, NewReno()), TypeError, "given: runs and rules"),
     (lambda run: compare(run, stationary(MM1K(1.0, 2.0, 3))), TypeError, "runs and answers"),
     (lambda run: compare(run, 3), TypeError, r"compared\[1\] = 3"),
     (lambda run: compare(run, run, seed=3), TypeError, "seed = 3"),
     (lambda run: compare(NewReno(), CUBIC()), TypeError, "bandwidth: is missing"),
     (lambda run: compare(NewReno(), bandwith=3), ValueError, "did you mean 'bandwidth'")],
)  # fmt: skip
def test_what_cannot_be_compared_is_named(run, call, error, part: str) -> None:
    with pytest.raises(error, match=part):
        call(run)
