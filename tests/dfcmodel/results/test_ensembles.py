"""Ensembles, runs side by side, and lower bounds on the times of transfers."""

from __future__ import annotations

import math

import matplotlib.colors as colours
import numpy as np
import pytest
from PIL import Image

import dfcmodel as dfc
from dfcmodel.lossless import fat_tree, leaf_spine, torus
from dfcmodel.results import Ensemble
from responsefn import DCQCN, FixedRate, NewReno
from tests.dfcmodel.intervals import student_interval

# Ensembles: arrays, display, and intervals that cover what they should.


@pytest.fixture(scope="module")
def many() -> Ensemble:
    return dfc.ensemble(
        dfc.takano2006("1", dfc=False), runs=4, jitter=1e-3, level="fluid", options=dfc.RunSettings(duration=0.12)
    )


def test_dataset_and_intervals(many) -> None:
    data = many.to_xarray()
    assert data["efficiency"].dims == ("run", "flow", "time")
    assert data["occupancy"].dims == ("run", "node", "time")
    assert data["losses"].dims == ("run", "flow", "node", "time")
    assert data["timeouts"].dims == ("run", "flow")
    np.testing.assert_array_equal(many.occupancy.sel(run=2).values, many.runs[2].queued)
    found = many.intervals(since=0.05)
    values = many.mean_efficiency(since=0.05)
    target = found["efficiency"].sel(flow="target")
    assert float(target.sel(estimate="mean")) == pytest.approx(values[:, 0].mean(), rel=1e-12)
    began = int(np.searchsorted(many.time, 0.05, side="right"))
    told = [(r.delivered[:, -1] - r.delivered[:, began - 1]) / (r.time[-1] - r.time[began - 1]) for r in many.runs]
    goodput = found["goodput"].sel(estimate="mean")
    np.testing.assert_allclose(goodput, np.mean(told, axis=0), rtol=1e-12)
    np.testing.assert_array_equal(goodput, np.mean(many.mean_goodput(0.05), axis=0))
    np.testing.assert_array_equal(many.goodput, [run.goodput for run in many.runs])
    lost = np.mean([run.lost.sum(axis=2) for run in many.runs], axis=0)
    everything = many.intervals()["losses"].sel(estimate="mean")
    np.testing.assert_allclose(everything.values, lost, rtol=1e-12)
    assert lost[0, 0] > 0


@pytest.mark.parametrize(("level", "quantile"), [(0.95, 3.182446), (0.9, 2.353363)])
def test_interval_is_students(many, level: float, quantile: float) -> None:
    """Four runs: quantiles of Student's distribution with three degrees of freedom."""
    values = many.mean_efficiency(since=0.05)
    found = many.intervals(since=0.05, level=level)["efficiency"]
    low, high = (found.sel(estimate=end).values for end in ("low", "high"))
    half = quantile * values.std(axis=0, ddof=1) / 2.0
    assert half[0] > 0.0
    np.testing.assert_allclose(high - low, 2.0 * half, rtol=1e-6)
    np.testing.assert_allclose(high + low, 2.0 * values.mean(axis=0), rtol=1e-12)
    further = [found.sel(estimate=f"prediction_{end}").values for end in ("low", "high")]
    np.testing.assert_allclose(np.diff(further, axis=0)[0], 2.0 * half * 5**0.5, rtol=1e-6)  # one further run


def test_a_summary_has_the_mean_with_its_interval_and_the_range_of_single_runs(many) -> None:
    row = str(many.summary()["target"])
    goodput, rate = many.goodput.to_numpy()[:, 0], many.scenario.slowest_rates[0]
    low, high = student_interval(goodput)
    single = (high - low) / 2 * 5**0.5
    assert f"goodput {goodput.mean():.4g} ± {(high - low) / 2:.2g}, single runs" in row
    assert f"to {min(rate, goodput.mean() + single):.4g} packets/s" in row  # no flow has more than its slowest link


def test_display(many) -> None:
    assert "mean efficiency" in repr(many)
    assert "of chance alone" in repr(many), "the error of the model is not in the interval"
    assert "status" in repr(many)
    page = many._repr_html_()
    assert "data:image/png" in page
    ax = many.plot()
    middle = ax.lines[0].get_ydata()
    np.testing.assert_array_equal(middle, np.median(many.efficiency.values[:, 0], axis=0))
    assert sum(bar.get_width() for bar in ax.figure.axes[1].patches) == 2 * len(many)


def test_intervals_refuse(many) -> None:
    with pytest.raises(ValueError, match="level = 1"):
        many.intervals(level=1.0)
    with pytest.raises(ValueError, match="since = 5"):
        many.intervals(since=5.0)


# Ensembles side by side: means with intervals, bands, arrays, and what is refused.


def some(name="s", buffer=20, runs=3):
    links = dfc.chain(2, rate=1e4, delay=1e-3, buffer=buffer)
    flows = [dfc.Flow(each, (1, 2), dfc.CBR(6e3)) for each in "ab"]
    return dfc.ensemble(
        dfc.Scenario(name, links, flows), runs, jitter=5e-3, level="fluid", options=dfc.RunSettings(duration=0.05)
    )


@pytest.fixture(scope="module")
def found():
    return dfc.compare(some(), small=some(buffer=4))


def test_the_table_has_means_and_intervals(found) -> None:
    for label, many in found.compared.items():
        of_runs = np.array([run.delivered[:, -1].sum() / 0.05 for run in many.runs])
        low, high = student_interval(of_runs)
        mean, half = of_runs.mean(), (high - low) / 2
        single = half * (len(of_runs) + 1) ** 0.5
        expected = f"{mean:.4g} ± {half:.2g}, single runs {max(0.0, mean - single):.4g} to {mean + single:.4g}"
        assert found.summary()["goodput of all flows (packets/s)"][label] == expected
    assert list(found.compared) == ["s", "small"]
    assert "<td" in found._repr_html_()


def test_the_figure_has_a_panel_for_each_and_one_for_all(found) -> None:
    ax = found.plot()
    assert len(ax.figure.axes) == 3
    line, band = ax.lines[1], ax.collections[1]
    runs = [np.diff(run.delivered.sum(axis=0), prepend=0.0) / 0.01 for run in found.compared["small"].runs]
    np.testing.assert_allclose(line.get_ydata(), np.median(runs, axis=0))
    assert band.get_facecolor()[0][:3] == pytest.approx(colours.to_rgb(line.get_color()))
    assert found.plot(ax) is ax


def test_arrays_are_the_intervals_of_each(found) -> None:
    data = found.to_xarray().sel(ensemble="small")
    np.testing.assert_array_equal(data.losses, found.compared["small"].intervals().losses)
    other = dfc.compare(
        found.compared["s"],
        dfc.ensemble(found.compared["s"].scenario, 2, level="fluid", options=dfc.RunSettings(duration=0.05)),
    )
    assert other.to_xarray().sizes["ensemble"] == 2  # another number of runs


def test_an_animation_is_refused_with_what_to_write(found) -> None:
    with pytest.raises(TypeError, match=r"runs\[0\]"):
        found.animate()
    assert dfc.compare(*(each.runs[0] for each in found.compared.values())).animate(frames=2)


def test_other_kinds_are_not_beside_ensembles(found) -> None:
    with pytest.raises(TypeError, match="given: ensembles and runs"):
        dfc.compare(found.compared["s"], found.compared["s"].runs[0])


# Bounds that no run passes, where they are reached, and by hand.


ROUNDING = 1e-12
"""Times are sums of some hundred numbers."""
GRAPHS = (leaf_spine(2, 2, hosts=3), leaf_spine(3, 1, hosts=2), fat_tree(4), torus([3, 3]))


def _random_scenario(seed: int) -> tuple[dfc.Scenario, dfc.Packets]:
    """Return a random network with random transfers, of which some wait for others."""
    random = np.random.default_rng(seed)
    speed, trunk = (random.choice(["10Gbps", "100Gbps", "400Gbps"]) for _ in range(2))
    lengths = [f"{length:g}m" for length in random.uniform(1, 500, 2)]
    source, recovery = ((FixedRate(), "go-back-n"), (FixedRate(), "none"), (DCQCN(), "go-back-n"), (NewReno(), None))[random.integers(4)]  # fmt: skip
    rules = [dfc.FIFO(), dfc.PFC(counts="switch", manager=dfc.RampMarking(5, 50, 0.1)), dfc.PFC(xoff=10, xon=5, counts="switch")]  # fmt: skip
    lossless = source == FixedRate() and recovery == "none"
    rule = rules[random.integers(1 if lossless else 0, 3)]
    size = "3 MB" if isinstance(rule, dfc.PFC) else random.choice(["20 kB", "200 kB"])
    graph = GRAPHS[random.integers(len(GRAPHS))]
    fabric = dfc.Fabric(graph, dfc.Cable(speed, lengths[0]), dfc.Cable(trunk, lengths[1]), size, discipline=rule)
    count, hosts = int(random.integers(2, 25)), len(fabric.hosts)
    ends = random.integers(hosts, size=count)
    others = (ends + random.integers(1, hosts, size=count)) % hosts
    after = np.where(random.uniform(size=count) < 0.4, random.integers(-1, np.arange(count)), -1)
    flows = dfc.flows_from(
        [fabric.hosts[n] for n in ends],
        [fabric.hosts[n] for n in others],
        random.integers(1, 60, count).astype(float),
        random.choice([0.0, 1e-6, 3e-6], count),
        source=source,
        links=fabric.links,
        routes=str(random.choice(["ecmp", "even"])),
        options=dfc.FlowOptions(after=after, host="nic"),
    )
    scenario = fabric.scenario(f"random {seed}", flows, 0.2, min_rto=1e-3)
    return scenario, dfc.Packets(seed=seed, recovery=recovery)


@pytest.mark.parametrize("seed", range(60))
def test_no_run_passes_its_lower_bound(seed: int) -> None:
    scenario, method = _random_scenario(seed)
    run, bound = dfc.simulate(scenario, method, sample=0.2), dfc.completion_bounds(scenario)
    done = np.isfinite(run.finished)
    assert done.any()
    assert (run.finished >= bound.finished * (1 - ROUNDING))[done].all()
    if done.all():
        assert run.finished.max() >= bound.job * (1 - ROUNDING)
    slowdown = run.completion_times().slowdown
    assert float(slowdown.min()) >= 1 - 1e-9  # of the difference of two times


def test_random_runs_are_of_all_kinds() -> None:
    """Some end, some wait for others, some lose packets: the test above is of each of them."""
    found = [_random_scenario(seed) for seed in range(60)]
    assert sum(scenario.followers.missing.any() for scenario, _ in found) > 20
    kinds = {(type(scenario.flows[0].source).__name__, type(scenario.links[0].discipline).__name__) for scenario, _ in found}  # fmt: skip
    assert len(kinds) >= 5


def test_an_incast_at_line_rate_reaches_its_bound() -> None:
    """Senders at line rate keep the last link busy from the first packet on: rounding errors apart."""
    fabric = dfc.Fabric(leaf_spine(2, 2, hosts=4), buffer="1 MB", discipline=dfc.PFC(counts="switch"))
    flows = dfc.incast(fabric.hosts[1:4], fabric.hosts[0], sizes=40, source=FixedRate(), links=fabric.links)
    scenario = fabric.scenario("incast", flows, 1e-3)
    bound = dfc.completion_bounds(scenario)
    assert bound.link == "('leaf', 0)->('host', 0)"
    assert bound.job == pytest.approx(121 * 1500 * 8 / 100e9 + 2 * 25e-9, rel=1e-12)
    run = dfc.simulate(scenario, dfc.Packets(seed=1, recovery="none"), sample=1e-3)
    assert run.finished.max() == pytest.approx(bound.job, rel=1e-9)


def test_bounds_by_hand() -> None:
    """Two flows over a link of 1,000 packets/s; the second starts later, so that the link idles before it."""
    links = dfc.chain(3, rate=1e3, delay=0.1, buffer=100)
    given = {"source": dfc.CBR(1e3), "host": "direct"}
    flows = [
        dfc.Flow("a", (1, 2, 3), size=10, **given),
        dfc.Flow("b", (2, 3), size=20, start=1.0, **given),
        dfc.Flow("c", (1, 2), size=5, after=("b",), start=0.5, **given),
        dfc.Flow("endless", (1, 2), **given),
        dfc.Flow("stopped", (1, 2), size=9, stop=3.0, **given),
    ]
    scenario = dfc.Scenario("by hand", links, flows, duration=1.0)
    bound = dfc.completion_bounds(scenario)
    expected = [0.2 + 11e-3, 1.1 + 20e-3, 1.1 + 20e-3 + 0.5 + 0.1 + 5e-3]
    np.testing.assert_allclose(bound.finished[:3], expected, rtol=1e-12)
    assert np.isnan(bound.finished[3:]).all()
    assert (bound.job, bound.link) == (pytest.approx(expected[2], rel=1e-12), "")


def test_a_link_of_many_flows_bounds_their_job() -> None:
    """The last link of an incast needs all packets, after the way of the nearest sender to it, before the nearest receiver's."""
    links = dfc.chain(3, rate=1e3, delay=0.1, buffer=1000)
    given = {"source": dfc.CBR(1e3), "host": "direct", "size": 100}
    flows = [dfc.Flow("far", (1, 2, 3), **given), dfc.Flow("near", (2, 3), start=0.05, **given)]
    bound = dfc.completion_bounds(dfc.Scenario("two", links, flows, duration=1.0))
    assert bound.link == "2->3"
    # all from 0.05 s on: 200 packets; the flow from afar alone: 0.101 + 0.1 s
    assert bound.job == pytest.approx(0.05 + 0.2 + 0.1, rel=1e-12)


def test_without_transfers_there_is_no_bound() -> None:
    links = dfc.chain(2, rate=1e3, delay=0.1, buffer=10)
    bound = dfc.completion_bounds(dfc.Scenario("endless", links, [dfc.Flow("a", (1, 2), dfc.CBR(9.0))]))
    assert math.isnan(bound.job)


def test_an_empty_network_takes_its_time_to_the_rounding_error() -> None:
    fabric = dfc.Fabric(
        fat_tree(4),
        dfc.Cable("100Gbps", "7m"),
        dfc.Cable("400Gbps", "90m"),
        discipline=dfc.PFC(counts="switch"),
    )
    flows = dfc.flows_from([fabric.hosts[0]], [fabric.hosts[-1]], 9, source=FixedRate(), links=fabric.links)
    scenario = fabric.scenario("one", flows, 1e-3)
    run = dfc.simulate(scenario, dfc.Packets(seed=1), sample=1e-3)
    bound = dfc.completion_bounds(scenario)
    assert run.finished[0] == pytest.approx(bound.finished[0], rel=1e-9)
    slow = 9 * 1500 * 8 / 100e9
    other = 1500 * 8 / 100e9 + 4 * 1500 * 8 / 400e9
    delay = 2 * 35e-9 + 4 * 450e-9
    assert bound.finished[0] == pytest.approx(slow + other + delay, rel=1e-12)


def test_an_access_link_counts() -> None:
    links = dfc.chain(3, rate=1e3, delay=0.1, buffer=10)
    flow = dfc.Flow("a", (1, 2, 3), FixedRate(), size=4, host="unshaped")
    run = dfc.simulate(dfc.Scenario("access", links, [flow], duration=2.0), dfc.Packets(seed=1))
    assert run.completion_times().slowdown[0] == pytest.approx(1.0, rel=1e-9)


def test_many_flows_are_bounded_at_once() -> None:
    fabric = dfc.Fabric(leaf_spine(8, 8, hosts=8), buffer="1 MB", discipline=dfc.PFC(counts="switch"))
    flows = dfc.all_to_all(fabric.hosts, sizes=3, source=FixedRate(), links=fabric.links, routes="even")
    bound = dfc.completion_bounds(fabric.scenario("all to all", flows, 1e-3))
    assert len(bound.finished) == 64 * 63
    # 63 x 3 packets at each host, of which the first comes over a switch, and the least way out
    assert bound.job == pytest.approx((63 * 3 + 1) * 1500 * 8 / 100e9 + 2 * 25e-9, rel=1e-12)


# Runs side by side: table, figure, animation, arrays.


@pytest.fixture(scope="module")
def side_by_side(run):
    return dfc.compare(run, dfc=dfc.simulate(dfc.takano2006("1"), duration=0.15, sample=5e-3, level="fluid"))


@pytest.fixture(scope="module")
def other_run():
    links = dfc.chain(3, rate=1e4, delay=1e-3, buffer=20)
    scenario = dfc.Scenario("other", links, [dfc.Flow("a", (1, 2, 3), dfc.CBR(2e4))], duration=0.05)
    return dfc.simulate(scenario, method=dfc.Packets(seed=1))


def test_the_table_has_the_measures_of_each_run(side_by_side, run) -> None:
    rows = side_by_side.summary()
    name, first = next(iter(rows.items()))
    assert name == "goodput of target (packets/s)"
    goodput = {label: float(one.measures.goodput[0]) for label, one in side_by_side.compared.items()}
    assert first == {label: f"{each:.4g}" for label, each in goodput.items()}
    assert rows["lost (packets)"] == {"takano2006/1": f"{run.lost.sum():.0f}", "dfc": "0"}
    assert "<td" in side_by_side._repr_html_()


def test_arrays_of_a_run_are_its_own(side_by_side, run) -> None:
    data = side_by_side.to_xarray()
    assert data.occupancy.dims == ("run", "node", "time")
    np.testing.assert_array_equal(data.occupancy.sel(run="takano2006/1"), run.queued)


def test_the_animation_has_a_panel_for_each_run(side_by_side, tmp_path) -> None:
    film = side_by_side.animate(frames=2)
    alone = side_by_side.compared["dfc"].animate(frames=2)
    with (
        Image.open(film.save(tmp_path / "two.gif")) as two,
        Image.open(alone.save(tmp_path / "one.gif")) as one,
    ):
        assert two.n_frames == one.n_frames == 2
        assert two.height > 1.5 * one.height


def test_panels_have_common_scales(side_by_side, run) -> None:
    ax = side_by_side.plot()
    panels = [each for each in ax.figure.axes if each.images]
    assert {each.images[0].get_clim() for each in panels} == {(0.0, run.queued.max())}


def test_runs_of_other_scenarios_have_a_table_but_no_common_axis(side_by_side, other_run, run) -> None:
    mixed = dfc.compare(run, other_run)
    assert mixed.summary()["goodput of target (packets/s)"]["other"] == "-"
    assert mixed.plot() is not None
    with pytest.raises(ValueError, match="other: has other nodes"):
        mixed.animate()
    with pytest.raises(ValueError, match="LABEL"):
        mixed.to_xarray()
