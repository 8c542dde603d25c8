"""``hopflow headroom`` and ``hopflow deadlock`` on the command line."""

from __future__ import annotations

import json

from typer.testing import CliRunner

from dfcmodel import headroom
from dfcmodel.lossless._cli import commands


def test_command_prints_the_parts_and_json(tmp_path) -> None:
    arguments = ["headroom", "--rate", "400Gbps", "--cable", "300m", "--cell", "192"]
    shown = CliRunner().invoke(commands, arguments, catch_exceptions=False)
    assert "225,792 B (1,176 cells)" in shown.output
    plot = tmp_path / "new" / "parts.png"
    made = CliRunner().invoke(commands, [*arguments, "--json", "--plot", str(plot)])
    assert json.loads(made.output)["bytes"] == headroom("400Gbps", "300m", cell=192).bytes
    assert plot.stat().st_size > 1000


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
