"""``hopflow headroom``, ``pool`` and ``deadlock`` on the command line."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from dfcmodel import headroom, headroom_table
from dfcmodel.lossless import PausedGroups, headroom_pool, longest_blocking, overflow, worst_demand
from dfcmodel.lossless._cli import commands


def test_command_prints_the_parts_and_json(tmp_path) -> None:
    arguments = ["headroom", "--rate", "400Gbps", "--cable", "300m", "--cell", "192"]
    shown = CliRunner().invoke(commands, arguments, catch_exceptions=False)
    assert "225,792 B (1,176 cells)" in shown.output
    plot = tmp_path / "new" / "parts.png"
    made = CliRunner().invoke(commands, [*arguments, "--json", "--plot", str(plot)])
    assert json.loads(made.output)["bytes"] == headroom("400Gbps", "300m", cell=192).bytes
    assert plot.stat().st_size > 1000


def test_ranges_of_all_inputs_and_the_velocity_are_those_of_the_function() -> None:
    arguments = ["headroom", "--rate", "400Gbps", "--cable", "300m", "--cell", "192", "--json"]
    ranges = ["--small-packets", "0..0.5", "--velocity", "1.9e8..2e8"]
    made = CliRunner().invoke(commands, [*arguments, *ranges], catch_exceptions=False)
    found = headroom("400Gbps", "300m", cell=192, small_packets=(0.0, 0.5), velocity=(1.9e8, 2e8))
    assert json.loads(made.output)["bytes"] == list(found.bytes)
    assert found.bytes[0] == headroom("400Gbps", "300m", cell=192).bytes < found.bytes[1]


def test_several_rates_and_cables_are_a_table(tmp_path) -> None:
    rates, cables = ["100Gbps", "400Gbps"], ["30m", "100m..300m"]
    arguments = ["headroom", "--rate", rates[0], "--rate", rates[1], "--cell", "192"]
    arguments += ["--cable", cables[0], "--cable", cables[1]]
    table = headroom_table(rates, ["30m", ("100m", "300m")], cell=192)
    shown = CliRunner().invoke(commands, arguments, catch_exceptions=False)
    assert shown.output == f"{table}\n"
    made = CliRunner().invoke(commands, [*arguments, "--json"], catch_exceptions=False)
    found = json.loads(made.output)["bytes"]
    assert found["400Gbps"]["30m"] == headroom("400Gbps", "30m", cell=192).bytes
    assert found["100Gbps"]["100m..300m"] == list(table.loc["100Gbps", "100m..300m"])
    arguments += ["--plot", str(tmp_path / "parts.png")]
    with pytest.raises(ValueError, match=r"plot = .*one rate and one cable"):
        CliRunner().invoke(commands, arguments, catch_exceptions=False)


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--small-packets", "half", "small_packets = 'half': must be a number, or a range"),
        ("--small-packets", "0..2", "small_packets = 2"),
        ("--velocity", "5ns", "velocity = '5ns': must be a number, or a range"),
    ],
)
def test_a_wrong_number_is_refused(option: str, value: str, message: str) -> None:
    arguments = ["headroom", "--rate", "400Gbps", "--cable", "300m", option, value]
    with pytest.raises(ValueError, match=message):
        CliRunner().invoke(commands, arguments, catch_exceptions=False)


POOL = {
    "--headroom": "80 kB", "--rate": "100Gbps", "--ports": "4", "--classes": "2", "--size": "300 kB",
    "--shared": "1 MB", "--xoff": "100 kB",
}  # fmt: skip


def test_a_pool_is_that_of_the_functions(tmp_path) -> None:
    arguments = ["pool", *(part for pair in POOL.items() for part in pair), "--blocked", "12us"]
    pool = headroom_pool(80e3, 4, 2, size=300e3, shared=1e6, xoff=100e3, rate="100Gbps")
    worst, times, risk = (
        worst_demand(pool, blocked=12e-6),
        longest_blocking(pool),
        overflow(pool, PausedGroups(0.01)),
    )
    shown = CliRunner().invoke(commands, arguments, catch_exceptions=False)
    assert "no, proved" in shown.output
    assert f"blocked up to {times.safe * 1e6:.4g} us" in shown.output
    plot = tmp_path / "pool.png"
    made = CliRunner().invoke(commands, [*arguments, "--json", "--plot", str(plot)])
    found = json.loads(made.output)
    assert found["demand"] == {"reached": worst.lower, "at_most": worst.upper, "overflows": False}
    assert found["blocked"] == times._asdict()
    assert found["probability"]["overflow"] == risk.probability
    assert plot.stat().st_size > 1000


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--size", "300 km", r"size = '300 km': must be a number and a unit of B"),
        ("--rate", "100", "rate"),
        ("--ports", "0", "ports = 0"),
        ("--alpha", "0.5", "xoff, alpha: exactly one of them"),
    ],
)
def test_a_wrong_pool_is_refused(option: str, value: str, message: str) -> None:
    options = POOL | {option: value}
    arguments = ["pool", *(part for pair in options.items() for part in pair)]
    with pytest.raises(ValueError, match=message):
        CliRunner().invoke(commands, arguments, catch_exceptions=False)


def test_deadlock_of_a_topology_file(tmp_path) -> None:
    """A ring of four switches: its cycle is named; with a spine and up-down routes there is none."""
    ring, free = tmp_path / "ring.toml", tmp_path / "free.toml"
    ring.write_text('cables = [["a", "b"], ["b", "c"], ["c", "d"], ["d", "a"]]')
    free.write_text('cables = [["a", "s"], ["b", "s"]]\nflows = [{path = ["a", "s", "b"]}]')
    shown = CliRunner().invoke(commands, ["deadlock", str(ring)], catch_exceptions=False)
    assert "a->b, b->c, c->d, d->a" in shown.output
    plot = tmp_path / "ring.png"
    made = CliRunner().invoke(
        commands, ["deadlock", str(free), "--json", "--plot", str(plot)], catch_exceptions=False
    )
    assert json.loads(made.output) == {"free": True, "cycles": []}
    assert plot.stat().st_size > 1000


def test_a_chip_belongs_to_audits() -> None:
    arguments = ["headroom", "--rate", "400Gbps", "--cable", "100m", "--chip", "tomahawk5"]
    made = CliRunner().invoke(commands, arguments)
    assert made.exit_code == 2
    assert "--chip belongs to `hopflow headroom audit FILE`" in " ".join(made.output.split())
