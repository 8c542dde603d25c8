"""One sweep for scenarios, chains, rules, headrooms and functions that return one of them."""

from __future__ import annotations

import warnings
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from multiprocessing import get_context

import numpy as np
import pytest
import xarray as xr

from dfcmodel import (
    CBR,
    Flow,
    Packets,
    PauseDatasheet,
    Scenario,
    coexist,
    coexist_sweep,
    dumbbell,
    headroom,
    simulate,
    takano2006,
)
from hopflow import sweep
from markov import MM1K, PauseTandem, explore, stationary
from responsefn import CUBIC, NewReno, Reno
from tests.option_objects import grouped
from tests.surface import for_each

SHORT = {"duration": "20ms"}
late_flow = pytest.mark.filterwarnings("ignore:unused options. a known limit")  # it starts after so short a run


def one_link(rate: float, buffer: int = 20) -> Scenario:
    links = dumbbell(1, rate=rate, delay="5ms", access_rate="1Gbps", access_delay="1ms", buffer=buffer)
    path = ("s1", "left", "right", "d1")
    return Scenario("one link", links, [Flow("f", path, NewReno())], duration=0.5)


def pairs_of(pairs: int) -> Scenario:
    links = dumbbell(pairs, rate=1000.0, delay=0.01, access_rate=1e5, access_delay=1e-3, buffer=50)
    path = [(f"s{n}", "left", "right", f"d{n}") for n in range(1, pairs + 1)]
    flows = [Flow(f"f{n}", each, CBR(100.0 * (n + 1))) for n, each in enumerate(path)]
    return Scenario("pairs", links, flows, duration=0.5)


def repairs(s, q):
    if s.up:
        yield s._replace(up=s.up - 1), q.failure * s.up
    if s.up < 2:
        yield s._replace(up=s.up + 1), q.repair


@late_flow
def test_scenarios_at_both_levels_are_their_runs() -> None:
    found = sweep(takano2006, name=["1", "4"], dfc=[True, False], levels=["fluid", "packets"], **SHORT)
    assert found.goodput.dims == ("name", "dfc", "level", "flow")
    assert found.goodput.attrs == {"units": "packets/s"}
    for name in ("1", "4"):
        for dfc in (True, False):
            for level in ("fluid", "packets"):
                run = simulate(takano2006(name, dfc=dfc), level=level, **SHORT)
                point = found.sel(name=name, dfc=dfc, level=level)
                np.testing.assert_array_equal(point.goodput, run.measures.goodput)
                np.testing.assert_array_equal(point.efficiency, run.mean_efficiency())
                assert float(point.peak_queue) == run.peak_queue.max()


def test_coordinates_are_in_si_units_whether_declared_or_not() -> None:
    found = sweep(one_link, rate=["6Mbps", "12Mbps"], duration=["100ms", 0.2])
    assert found.rate.values.tolist() == [500.0, 1000.0]
    assert found.rate.attrs["units"] == "packets/s"
    assert found.duration.values.tolist() == [0.1, 0.2]
    assert found.duration.attrs["units"] == "s"
    run = simulate(one_link(1000.0), duration=0.1)
    np.testing.assert_array_equal(found.goodput.sel(rate=1000.0, duration=0.1), run.measures.goodput)


def test_a_function_is_called_with_strings_as_they_were_written() -> None:
    """A bit rate is not the same number for `Link` and for `headroom`; the coordinate states its unit."""

    def bytes_of(rate, buffer, loss) -> float:
        return headroom(rate, "100m").bytes + len(buffer) + len(loss)

    found = sweep(bytes_of, rate=["100Gbps", "400Gbps"], buffer=["80pkt", "9 packets"], loss=["1%", "20%"])
    assert float(found.value[1, 0, 0]) == headroom("400Gbps", "100m").bytes + 7
    units = {name: each.attrs["units"] for name, each in found.coords.items()}
    assert units == {"rate": "packets/s", "buffer": "packets", "loss": "1"}
    assert found.buffer.values.tolist() == [80, 9]
    assert found.loss.values.tolist() == [0.01, 0.2]
    sizes = sweep(lambda size: len(size), size=["9kB", "1500B"])
    assert sizes["size"].values.tolist() == [9000.0, 1500.0]
    assert sizes["size"].attrs == {"units": "bytes"}


def test_rules_take_losses_in_per_cent() -> None:
    found = sweep(CUBIC(), p=["1%", "10%"], rtt="40ms")
    assert found.p.values.tolist() == [0.01, 0.1]
    assert found.p.attrs["units"] == "1"


def test_a_scenario_is_swept_over_its_fields_and_settings() -> None:
    with pytest.warns(UserWarning, match="^seed: the 2 seeds gave identical results at level 'pack"):
        found = sweep(one_link(1000.0), min_rto=["200ms", "1s"], seed=[1, 2], levels="packets")
    assert found.goodput.sizes == {"min_rto": 2, "seed": 2, "level": 1, "flow": 1}
    run = simulate(one_link(1000.0), Packets(seed=None), seed=2)
    assert float(found.goodput.sel(min_rto=0.2, seed=2).item()) == run.measures.goodput.item()
    whole = run.lost.sum() / (run.lost.sum() + run.delivered[:, -1].sum())
    assert float(found.total_loss_ratio.sel(min_rto=0.2, seed=2).item()) == whole


def test_a_scenario_is_measured_from_a_time_on() -> None:
    found = sweep(one_link(1000.0), since=["0s", "250ms"], levels="packets")
    run = simulate(one_link(1000.0), Packets(seed=None))
    assert found.since.attrs["units"] == "s"
    for since in (0.0, 0.25):
        counts = run.counts(since)
        at = found.sel(since=since).squeeze()
        before = run.delivered[0, run.time <= since + 1e-12]
        assert counts.delivered[0] == run.delivered[0, -1] - (before[-1] if before.size else 0.0)
        assert counts.lost[0] == run.lost[0][:, run.time > since + 1e-12].sum()
        assert float(at.goodput) == counts.delivered[0] / counts.seconds
        assert float(at.loss_ratio) == counts.loss_ratio[0]
        assert float(at.efficiency) == run.mean_efficiency(since)[0]
    assert counts.seconds == pytest.approx(0.25, rel=1e-12)
    with pytest.raises(ValueError, match=r"^since = 0.5: must be a finite number >= 0 and < 0.5"):
        sweep(one_link(1000.0), since=0.5)


def two_rtts(rate: float) -> Scenario:
    links = dumbbell(2, rate=rate, delay="5ms", access_rate="1Gbps", access_delay="1ms", buffer=20)
    links = [replace(link, delay=0.02) if link.source == "s2" else link for link in links]
    flows = [Flow(f"f{n}", (f"s{n}", "left", "right", f"d{n}"), NewReno()) for n in (1, 2)]
    return Scenario("two", links, flows, duration=2.0)


def test_limits_of_runs_are_flags_and_one_warning_names_their_points() -> None:
    asked = {"rate": [500.0, 1000.0], "seed": [1, 2], "levels": "packets"}
    with pytest.warns(UserWarning, match=r"^(seed|phase effects):") as said:
        found = sweep(two_rtts, **asked)
    (phases,) = [str(each.message) for each in said if "phase effects" in str(each.message)]
    assert "at 4 of 4 points (rate = 500, level = 'packets'; rate = 1000, level = 'packets')" in phases
    flag = dict(zip(found.limits.flag_meanings.split(), found.limits.flag_masks, strict=True))
    assert (found.limits & flag["phase_effects"] > 0).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        random = sweep(two_rtts, **asked, packet_jitter="1pkt")
    assert (random.limits == 0).all()
    run = simulate(two_rtts(500.0), level="packets", seed=1, packet_jitter=1.0 / 500.0)
    goodput = random.goodput.sel(seed=1, rate=500.0, level="packets")
    np.testing.assert_array_equal(run.measures.goodput, goodput)
    assert (random.jain.sel(seed=1) != random.jain.sel(seed=2)).all()


def test_points_with_different_flows_have_sums() -> None:
    found = sweep(pairs_of, pairs=[1, 3])
    assert "goodput" not in found
    assert found.total_goodput.values == pytest.approx([100.0, 600.0], rel=0.1)


def test_links_alone_need_a_source() -> None:
    path = {
        "rate": "12Mbps", "delay": "5ms", "access_rate": "1Gbps", "access_delay": "1ms", "buffer": "20pkt",
    }  # fmt: skip
    found = sweep(dumbbell, pairs=[1, 2], source=NewReno(), duration=1.0, **path)
    assert (found.total_goodput > 500.0).all()
    with pytest.raises(ValueError, match=r"^source: must be given"):
        sweep(dumbbell, pairs=[1, 2], **path)


def test_explored_chains_are_swept() -> None:
    chain = explore(
        repairs,
        start={"up": 2},
        params={"failure": 0.1, "repair": 1.0},
        rewards=lambda s: {"mean": s.up},
    )
    found = sweep(chain, failure=[0.1, 0.2], repair=1.0)
    for failure in (0.1, 0.2):
        same = explore(
            repairs, start={"up": 2}, params={"failure": failure, "repair": 1.0},
            rewards=lambda s: {"mean": s.up},
        )  # fmt: skip
        assert float(found["mean"].sel(failure=failure)) == stationary(same).measures["mean"].item()


def test_labels_read_swept_parameters() -> None:
    def rules(s, q):
        if s.n < q.room:
            yield s._replace(n=s.n + 1), 0.9
        if s.n > 0:
            yield s._replace(n=s.n - 1), 1.0

    full = explore(rules, start={"n": 0}, params={"room": 3}, labels=lambda s, q: {"full": s.n == q.room})
    rooms = [3, 5]
    expected = [0.9**room / sum(0.9**n for n in range(room + 1)) for room in rooms]
    np.testing.assert_allclose(sweep(full, room=rooms)["full"], expected, rtol=1e-12)


def test_a_function_that_returns_a_chain_is_swept() -> None:
    found = sweep(lambda rtt: PauseTandem(rtt=rtt), rtt=["500ms", "1s"])
    same = sweep(PauseTandem(), rtt=[0.5, 1.0])
    assert found.rtt.values.tolist() == [0.5, 1.0]
    of_solver = [
        "residual",
        "error_bound",
    ]  # before kernels are loaded NumPy solves: other roundings
    xr.testing.assert_allclose(
        found.drop_attrs().drop_vars(of_solver), same.drop_attrs().drop_vars(of_solver), rtol=1e-12
    )


def test_rules_are_swept_over_loss_and_parameters() -> None:
    found = sweep(CUBIC(), C=[0.4, 1.0], p=[1e-4, 1e-3], rtt=["40ms", "80ms"])
    assert found.rate.dims == ("C", "p", "rtt")
    assert float(found.rate.sel(C=1.0, p=1e-3, rtt=0.08)) == CUBIC(C=1.0).rate(1e-3, 0.08)


def test_lists_of_rules_share_a_bottleneck() -> None:
    path = {"bandwidth": "6Mbps", "rtt": ["20ms", "40ms"], "buffer": 20, "duration": 2.0, "runs": 1}
    xr.testing.assert_identical(
        sweep([Reno(), CUBIC()], **path), coexist_sweep([Reno(), CUBIC()], **grouped(coexist_sweep, path))
    )


def test_headrooms_are_swept() -> None:
    found = sweep(headroom, rate=["100Gbps", "400Gbps"], cable=["5m", 300], cell=192)
    assert found.bytes.values[1, 1] == headroom("400Gbps", "300m", cell=192).bytes
    assert found.rate.values.tolist() == [100e9, 400e9]
    assert (found.rate.attrs["units"], found.cable.attrs["units"]) == ("bit/s", "m")
    ranged = sweep(headroom, rate=["100Gbps"], cable=[("5m", "300m")])
    assert ranged.bytes.values.tolist() == [[list(headroom("100Gbps", ("5m", "300m")).bytes)]]


def test_keywords_that_functions_share_are_swept() -> None:
    port = {"rate": "400Gbps", "cable": "300m"}
    found = sweep(headroom, **port, pipeline=["100ns", 5e-7])
    assert found.pipeline.values == pytest.approx([1e-7, 5e-7])
    assert found.pipeline.attrs["units"] == "s"
    assert found.bytes.values.tolist() == [
        headroom(**port, datasheet=PauseDatasheet(pipeline=p)).bytes for p in (1e-7, 5e-7)
    ]
    with pytest.raises(ValueError, match=r"pipelines: .* no such parameter, but rate, cable, .* pipeline, "):
        sweep(headroom, **port, pipelines=["100ns"])


def test_a_function_of_numbers_is_swept() -> None:
    assert sweep(lambda x, y: x * y, x=[1, 2], y=[3.0]).value.values.tolist() == [[3.0], [6.0]]
    assert sweep(lambda x: {"twice": 2 * x}, x=[1, 2]).twice.values.tolist() == [2, 4]
    assert sweep(lambda x: x[1][0], x=[(1, [2]), (2, [3])]).value.values.tolist() == [2, 3]  # without a hash


@late_flow
@pytest.mark.parametrize("kind", ["threads", "processes"])
def test_executors_do_not_change_results(kind) -> None:
    asked = {"name": ["1", "4"], "levels": ["fluid"], **SHORT}
    pool = ThreadPoolExecutor(2) if kind == "threads" else ProcessPoolExecutor(1, mp_context=get_context("spawn"))
    with pool:
        found = sweep(takano2006, executor=pool, **asked)
    xr.testing.assert_identical(found, sweep(takano2006, **asked))


@late_flow
def test_a_store_is_resumed(tmp_path) -> None:
    pytest.importorskip("zarr", reason="needs hopflow[scale]")
    asked = {"name": ["1", "4"], "store": tmp_path / "runs.zarr", **SHORT}
    found = sweep(takano2006, **asked)
    xr.testing.assert_equal(found.load(), sweep(takano2006, **asked).load())


@for_each([
    (lambda: sweep(takano2006, names=["1"]), ValueError, "^thing = takano2006: needs values of name, without a default; given are names"),
    (lambda: sweep(takano2006, name="1", colour=["red"]), ValueError, "^colour: thing = takano2006 has no such parameter, but name, dfc"),
    (lambda: sweep(takano2006, name=["1"], levels=["fluids"]), ValueError, "^level = 'fluids': must be one of"),
    (lambda: sweep(PauseTandem(), rtt=[1.0], levels=["fluid"]), ValueError, "^level: thing = PauseTandem has no such parameter"),
    (lambda: sweep(takano2006, name=[]), ValueError, r"^name = \[\]: at least one value"),
    (lambda: sweep(takano2006, name="1", dfc=[True, False, True]), ValueError, "^dfc = True is given twice: each value is a point of the sweep$"),
    (lambda: sweep(headroom, rate="1Gbps", cable=["1m", "0.001km"]), ValueError, "^cable = 1.0 is given twice"),
    (lambda: sweep(coexist, rules=[CUBIC(), CUBIC()], rtt=0.04, bandwidth=1e3, buffer=9), ValueError, r"write rules=\[\[...\]\]$"),
    (lambda: sweep(max, x=[1]), TypeError, "^thing = <built-in function max>: has no signature"),
    (lambda: sweep(3, name=[1]), ValueError, "^thing = 3: must be a scenario, a chain"),
    (lambda: sweep(CUBIC(), C=[1.0]), ValueError, "^p: must be given"),
    (lambda: sweep(headroom, rate="1Gbps", cable=["1m"], method=1), ValueError, "^method = 1: is for"),
])  # fmt: skip
def test_wrong_sweeps_are_refused(call, error, said) -> None:
    with pytest.raises(error, match=said):
        call()


def test_a_sweep_of_many_points_says_its_size_before_the_first_is_checked():
    numbers = range(1, 10**6)
    size = r"^sweep of 999,998,000,001 points \(999,999 of capacity x 999,999 of arrival_rate\): at least 8e\+03 GB"
    with pytest.raises(ValueError, match=size):
        sweep(MM1K, capacity=numbers, arrival_rate=numbers)

    def refuse(x: int, y: int) -> None:
        raise RuntimeError

    size = r"^sweep of 1,000,000 points \(1,000 of x x 1,000 of y\): at least 0\.008 GB for each result$"
    with pytest.warns(UserWarning, match=size), pytest.raises(RuntimeError):
        sweep(refuse, x=range(1000), y=range(1000))
