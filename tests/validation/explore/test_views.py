"""Views: what may be chosen, that the code of each runs and gives its numbers, calculators, and charts."""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dfcmodel import headroom, simulate, takano2006
from dfcmodel.lossless import PausedGroups, overflow, worst_demand
from hopflow.checks import count_of
from markov import PauseTandem, stationary
from tests.surface import for_each
from tests.validation.explore.conftest import MISSING
from validation.explore import VIEWS
from validation.explore.calculators import CALCULATORS, address, answer, calculator, settings
from validation.explore.charts import Animation, BarChart, LineChart
from validation.explore.views import Bars, Chart, Drawing, Frames, Knob, Line, View, fraction

# Views: what may be chosen, and that the code of each runs and gives its numbers.


# Knobs and views: what may be chosen, and that the code of every view runs and gives its numbers.


BY_NAME = {view.name: view for view in VIEWS}


def run(code: str) -> tuple[dict[str, Any], str]:
    """Run the code of a view; return its names and what it prints."""
    names: dict[str, Any] = {}
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(code, "view.py", "exec"), names)  # noqa: S102
    return names, printed.getvalue()


def drawn(view: View, **texts: str) -> tuple[Drawing, dict[str, Any]]:
    """Return what a view draws for some knobs, and the names that its code leaves."""
    values = view.values(**texts)
    return view.draw(**values), run(view.code(**values))[0]


@for_each(VIEWS)
def test_values_are_those_of_the_texts(view: View) -> None:
    first = view.knobs[0]
    text = list(first.options)[-1]
    assert view.values(**{first.name: text})[first.name] == first.options[text]
    assert set(view.values()) == {knob.name for knob in view.knobs}
    for knob in view.knobs:
        if knob.free is None:
            with pytest.raises(ValueError, match=f"{knob.label} = 'much'"):
                view.values(**{knob.name: "much"})


def test_a_fraction_is_read_in_per_cent_or_alone() -> None:
    assert fraction("load", "140 %", 0.1, 5.0) == fraction("load", "1.4", 0.1, 5.0) == 1.4
    for text in ("600 %", "nan", "-1", "1.4x"):
        with pytest.raises(ValueError, match=f"load = '{text}': must be"):
            fraction("load", text, 0.1, 5.0)


def test_a_knob_with_a_text_field_takes_other_texts() -> None:
    knob = Knob("rtt", "Round-trip time", {"1 ms": 0.001}, "1 ms", free=float)
    assert knob.value("1 ms") == 0.001
    assert knob.value("0.5") == 0.5


def test_names_of_views_differ() -> None:
    assert len(BY_NAME) == len(VIEWS)


@pytest.mark.slow
@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.name)
def test_both_ends_of_every_knob_can_be_drawn(view: View) -> None:
    for knob in view.knobs:
        texts = list(knob.options)
        for text in (texts[0], texts[-1]):
            found = view.draw(**view.values(**{knob.name: text}))
            assert found.finding.endswith(".")
            for line in (line for chart in found.charts for line in chart.lines):
                assert line.x.shape == line.y.shape
                assert np.isfinite(line.y).all(), (knob.name, text, line.label)
            if found.bars is not None:
                assert np.isfinite(found.bars.lengths).all(), (knob.name, text)
                assert len(found.bars.names) == len(found.bars.texts) == len(found.bars.lengths)


# The view of DFC against its code and against the runs it is made of.


@pytest.mark.slow
def test_the_code_gives_the_queues() -> None:
    found, names = drawn(BY_NAME["dfc"], tcp="Tahoe", diffusion="0.2")
    for line, run in zip(found.charts[0].lines, names["runs"], strict=True):
        np.testing.assert_allclose(line.y, run.queued.max(axis=0), rtol=1e-9)


@pytest.mark.slow
def test_frames_are_moments_of_the_run() -> None:
    found = BY_NAME["dfc"].draw(**BY_NAME["dfc"].values())
    frames = found.frames
    assert frames is not None
    run = simulate(takano2006("1", dfc=False, tcp="newreno"), sample=0.01, level="fluid")
    assert frames.heights.shape == (4, len(run.queued), len(frames.times))
    at = np.searchsorted(run.time, frames.times - 1e-9)
    np.testing.assert_allclose(frames.heights[1], np.asarray(run.queued)[:, at], rtol=1e-9)


# The view of two congestion controls against its code.


@pytest.mark.slow
def test_the_code_gives_windows_and_shares() -> None:
    found, names = drawn(BY_NAME["tcp"], first="HTCP", second="NewReno", rtt="80ms", buffer="0.5")
    for line, window in zip(found.charts[0].lines, names["run"].window, strict=True):
        np.testing.assert_array_equal(line.y, window)
    assert f"{names['run'].share.max():.0%}" in found.finding


@pytest.mark.slow
def test_two_flows_of_one_rule_have_names_of_their_own() -> None:
    found = BY_NAME["tcp"].draw(**BY_NAME["tcp"].values(first="NewReno", second="NewReno"))
    assert [line.label for line in found.charts[0].lines] == ["NewReno (1)", "NewReno (2)"]


# The view of pause thresholds against the chain itself.


def curve(found: Drawing) -> dict[float, float]:
    """Return the gain by threshold."""
    (line,) = found.charts[0].lines
    return dict(zip(line.x.tolist(), line.y.tolist(), strict=True))


def test_the_gain_is_that_of_two_chains() -> None:
    found = curve(BY_NAME["threshold"].draw(**BY_NAME["threshold"].values(buffer="8 packets")))
    port = PauseTandem(
        buffers=(10, 8), high_threshold=8, link_rate="10Gbps", paused_rate=0.0, rtt="200us",
        bottleneck_rate="5Gbps", arrival_rates=("7Gbps", "3.5Gbps", "2.33333Gbps"),
    )  # fmt: skip
    with_pause, without = (stationary(port.replace(high_threshold=high)).throughput for high in (6, 8))
    assert found[8.0] == 0.0
    assert found[6.0] == pytest.approx(100.0 * (with_pause / without - 1.0), rel=1e-9)


@pytest.mark.parametrize(("rtt", "buffer"), [("200us", 20), ("1ms", 30)])
def test_the_finding_is_the_best_of_all_thresholds(rtt: str, buffer: int) -> None:
    found = BY_NAME["threshold"].draw(**BY_NAME["threshold"].values(rtt=rtt, buffer=f"{buffer} packets"))
    port = PauseTandem(
        buffers=(10, buffer), high_threshold=buffer, link_rate="10Gbps", paused_rate=0.0, rtt=rtt,
        bottleneck_rate="5Gbps", arrival_rates=("7Gbps", "3.5Gbps", "2.33333Gbps"),
    )  # fmt: skip
    throughput = [stationary(port.replace(high_threshold=high)).throughput for high in range(1, buffer + 1)]
    best = int(np.argmax(throughput))
    gain = 100.0 * (throughput[best] / throughput[-1] - 1.0)
    assert f"at a threshold of {best + 1} of {buffer} packets: {gain:+.2f} %" in found.finding
    assert max(curve(found).values()) == pytest.approx(gain, rel=1e-9)


@pytest.mark.slow
def test_the_code_gives_the_curve() -> None:
    found, names = drawn(BY_NAME["threshold"], rtt="1ms", buffer="12 packets", load="120%")
    np.testing.assert_allclose(list(curve(found).values()), names["gain"].to_numpy(), rtol=1e-9)


# The view of a port's headroom against its code.


CHOICES = [
    {},
    {"rate": "100Gbps", "cable": "40km", "small": "half of the frames"},
    {"cell": "bytes, no cells", "response": "400ns, measured", "small": "any sizes"},
    {"mtu": "4200 B", "lossless": "512 B", "cell": "288 B", "pipeline": "1us"},
]


@pytest.mark.parametrize("choices", CHOICES, ids=repr)
def test_the_code_gives_the_number_the_items_and_the_curve(choices: dict[str, str]) -> None:
    found, names = drawn(BY_NAME["headroom"], **choices)
    port = names["port"]
    (curves,), bars = found.charts, found.bars
    assert found.finding.startswith(f"{port.bytes:,} bytes")
    assert f"{port.xon_bytes:,} bytes" in found.finding
    assert bars is not None
    assert bars.names == tuple(item.name for item in port.items)
    assert bars.lengths.sum() == pytest.approx(port.bytes / 1e3)
    small = list(BY_NAME["headroom"].knobs[2].options.values()).index(BY_NAME["headroom"].values(**choices)["small"])
    here = curves.lines[small].x == port.metres[1]
    assert curves.lines[small].y[here].tolist() == [port.bytes / 1e3]


def test_any_two_frame_sizes_can_be_chosen() -> None:
    largest, lossless = (knob.options.values() for knob in BY_NAME["headroom"].knobs[3:5])
    assert min(largest) >= max(lossless)


# The view of a link's credits against its code.


CREDIT_CHOICES = [
    {},
    {"rate": "100Gbps", "cable": "40km", "small": "half of the frames"},
    {"credit": "bytes, no cells", "message": "8 B", "small": "any sizes"},
    {"mtu": "4200 B", "lossless": "512 B", "credit": "64 B", "update": "1us"},
]


@pytest.mark.parametrize("choices", CREDIT_CHOICES, ids=repr)
def test_the_code_gives_the_credits_the_items_and_the_curves(choices: dict[str, str]) -> None:
    found, names = drawn(BY_NAME["credits"], **choices)
    link, pause = names["found"], names["pause"]
    (curves,), bars = found.charts, found.bars
    count = f"{link.credits:,} credits, " if link.credit_given else ""
    assert found.finding.startswith(f"{count}{link.bytes:,} bytes: ")
    assert bars is not None
    assert bars.lengths.sum() == pytest.approx(link.bytes / 1e3)
    cable = list(BY_NAME["credits"].knobs[1].options).index(choices.get("cable", "300m"))
    credit, paused = curves.lines
    assert credit.y[cable] == link.bytes / 1e3
    assert paused.y[cable] == (pause.bytes + pause.xon_bytes) / 1e3


# The view of a shared headroom pool against its code.


@pytest.mark.parametrize(("blocked", "verdict"), [("1us", "cannot overflow"), ("1ms", "overflows")])
def test_the_finding_and_the_curve_are_those_of_the_code(blocked: str, verdict: str) -> None:
    found, names = drawn(BY_NAME["pool"], ports="4", classes="1", size="300 kB", blocked=blocked)
    worst, risk = (
        worst_demand(names["pool"], blocked=blocked),
        overflow(names["pool"], PausedGroups(0.01)),
    )
    assert f"for {blocked}, the pool {verdict}: {worst.upper / 1e6:,.3g} MB" in found.finding
    assert f"{risk.least_size(1e-9) / 1e6:,.3g} MB are exceeded" in found.finding
    (line,) = found.charts[0].lines
    np.testing.assert_allclose(10.0**line.y, risk.survival(line.x * 1e6), rtol=1e-12)


@pytest.mark.parametrize(("text", "alpha"), [("1/8", 0.125), ("1/3", 1 / 3), ("0.3", 0.3), ("4", 4.0)])
def test_thresholds_are_fractions_or_numbers(text: str, alpha: float) -> None:
    assert BY_NAME["pool"].values(alpha=text)["alpha"] == alpha


# The view of an audit against its code, and the texts of tables that it reads or refuses.


PROFILES = '{"BUFFER_PROFILE": {"pg_lossless_100000_300m_profile": {"xoff": "98304"}}}'
CSV = "speed,cable,xoff\n400000,300m,225280\n100000,40m,51200\n"


@for_each(
    [
        {},
        {"cell": "144 B", "lossless": "4096 B"},
        {"chip": "tomahawk5"},
        {"table": CSV, "response": "400ns, measured"},
        {"table": PROFILES, "cell": "208 B"},
        {"table": "# speed cable xoff\n123000 5m 30000"},
    ]
)
def test_the_code_gives_the_rows(choices: dict[str, str]) -> None:
    found, names = drawn(BY_NAME["audit"], **choices)
    audit = names["audit"]
    assert found.table is not None
    where = [row.where if found.table.heading[-1] == "profile" else () for row in audit.rows]
    expected = [row.columns[4:] + more for row, more in zip(audit.rows, where, strict=True)]
    assert [row[4:] for row in found.table.rows] == expected
    assert any(map(any, where)) is (choices.get("table") == PROFILES)
    assert [row[2] for row in found.table.rows] == [f"{row.row.xoff:,}" for row in audit.rows]
    assert found.finding.startswith(f"{count_of(len(audit.rows), 'row')}: ")
    judged = [row for row in audit.rows if row.needs.any_sizes is not None]
    lines = found.charts[0].lines if judged else ()
    assert sorted(1e3 * y for line in lines[:1] for y in line.y) == pytest.approx(
        sorted(float(row.row.xoff) for row in judged)
    )


# The calculators: settings from addresses and back, answers as JSON, and what they need to be imported.


ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("name", CALCULATORS)
def test_an_address_has_all_settings(name: str) -> None:
    view = calculator(name)
    texts = {}
    for knob in view.knobs:
        others = [text for text in knob.options if text != knob.start]
        texts[knob.name] = others[0] if others else "100000 5m 64 64 30000\n40000 5m 64 64 20000"
    assert settings(address(name, **texts)) == (name, texts)
    assert settings("#" + address(name)) == (name, {knob.name: knob.start for knob in view.knobs})


@for_each(
    [
        ("headrom", "calculator = 'headrom': must be one of 'headroom'"),
        ("headroom?length=3m", "setting = 'length': must be one of 'rate', 'cable'"),
        ("headroom?small=some", "Frames that may be small = 'some': must be one of"),
        ("headroom?cable=3parsec", "cable = '3parsec': must be a number and a unit of"),
        ("pool?ports=1000", "Ports = 1000: must be a whole number in 1..128"),
        ("pool?alpha=1/0", "Dynamic threshold = '1/0': must be a number, such as 1/8"),
        ("pool?paused=much", "Time in which a class is paused = 'much': must be a percentage"),
        ("threshold?load=900%25", "Largest offered load = '900%': must be from 0.1 to 5"),
        ("audit?table=400000+300m", "table: line 1: 2 columns, must be speed cable size xon xoff"),
        ("audit?chip=spectrum", "Chip = 'spectrum': must be one of 'other', 'tomahawk4'"),
        ("credits?message=0B", "message = 0.0: must be a whole number in 1..65535 (bytes)"),
        ("threshold?buffer=61", "Buffer of the port = 61.0: must be a whole number in 2..60"),
    ]
)
def test_settings_that_are_not_allowed_are_refused(fragment: str, message: str) -> None:
    assert json.loads(answer(fragment))["error"].startswith(message)


def test_a_free_text_is_calculated() -> None:
    found = json.loads(answer("headroom?rate=25Gbps&cable=37m"))
    port = headroom("25Gbps", "37m", 9216, 4096, 192)
    assert found["finding"].startswith(f"{port.bytes:,} bytes, {port.cells:,} cells")
    assert '"25Gbps", "37m"' in found["code"]
    assert [line["label"] for line in found["charts"][0]["lines"]] == ["MTU", "half small", "any"]
    assert len(found["bars"]["rows"]) == len(port.items)


IMPORTS = """
import json, sys
sys.path[:0] = {path!r}
from validation.explore.calculators import answer
found = {{}}
for fragment in {fragments!r}:
    found[fragment] = json.loads(answer(fragment))
foreign = ["scipy", "numba", "xarray", "pandas", "jax", "sympy", "networkx", "matplotlib"]
print(json.dumps([found, [name for name in foreign if name in sys.modules]]))
"""


@pytest.mark.parametrize(
    ("packages", "fragments"),
    [
        (("numpy",), ["headroom", "credits", "audit"]),
        (("numpy", "scipy"), ["pool?ports=2&classes=1", "threshold?buffer=2"]),
    ],
)
def test_calculators_need_nothing_else(tmp_path, packages, fragments) -> None:
    """As in the browser: an interpreter that has these packages alone, and no Numba."""
    site = Path(sysconfig.get_path("purelib"))
    for name in (*packages, *(f"{name}.libs" for name in packages)):
        if (site / name).is_dir():
            (tmp_path / name).symlink_to(site / name)
    code = IMPORTS.format(path=[str(tmp_path), str(ROOT)], fragments=fragments)
    command = [sys.executable, "-I", "-S", "-c", code]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found, loaded = json.loads(printed)
    assert set(loaded) <= set(packages)
    for fragment in fragments:
        here = json.loads(answer(fragment))
        assert found[fragment]["finding"] == here["finding"]
        for given, chart in zip(found[fragment]["charts"], here["charts"], strict=True):
            for line, own in zip(given["lines"], chart["lines"], strict=True):
                assert line["x"] == own["x"]
                # compiled kernels add in another order: a few roundings, of gains that are differences from 1
                assert line["y"] == pytest.approx(own["y"], rel=1e-9, abs=1e-9)


# Charts whose contents are replaced in place, without a browser.


needs_bokeh = pytest.mark.skipif("bokeh" in MISSING, reason="not installed: bokeh")


@needs_bokeh
def test_curves_and_their_labels_are_replaced() -> None:
    x = np.arange(3.0)
    chart = LineChart(Chart("title", "x", "y", (Line("a", x, x), Line("b", x, 2 * x))))
    chart.update(Chart("title", "x", "y", (Line("c", x, 3 * x), Line("b", x, 2 * x))))
    np.testing.assert_array_equal(chart.sources[0].data["y"], 3 * x)
    assert [item.label.value for item in chart.legend.items] == ["c", "b"]


@needs_bokeh
def test_bars_keep_room_for_their_texts() -> None:
    chart = BarChart(Bars("title", "x", ("a", "b"), np.array([1.0, 2.0]), ("1", "2")))
    assert chart.figure.x_range.end > 2.0
    chart.update(Bars("title", "x", ("a", "b"), np.array([-1.0, 5.0]), ("-1", "5")))
    assert chart.figure.x_range.start < -1.0
    assert chart.figure.x_range.end > 5.0
    np.testing.assert_array_equal(chart.source.data["ends"], [0.0, 5.0])  # where texts begin


@needs_bokeh
def test_an_animation_begins_where_most_is_seen() -> None:
    heights = np.zeros((2, 3, 4))  # series, places, frames
    heights[1, 2, 3] = 7.0
    frames = Frames("title", "node", "packets", ("off", "on"), np.arange(4.0), heights)
    chart = Animation(frames)
    assert chart.when.value == 3
    assert chart.when.title == "at 3.00 s"
    np.testing.assert_array_equal(chart.sources[1].data["now"], [0.0, 0.0, 7.0])
