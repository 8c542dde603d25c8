"""``hopflow headroom`` on the command line."""

from __future__ import annotations

import json

from typer.testing import CliRunner

from dfcmodel import headroom
from dfcmodel.lossless._cli import commands


def test_command_prints_the_parts_and_json(tmp_path) -> None:
    arguments = ["--rate", "400Gbps", "--cable", "300m", "--cell", "192"]
    shown = CliRunner().invoke(commands, arguments, catch_exceptions=False)
    assert "225,792 B (1,176 cells)" in shown.output
    plot = tmp_path / "new" / "parts.png"
    made = CliRunner().invoke(commands, [*arguments, "--json", "--plot", str(plot)])
    assert json.loads(made.output)["bytes"] == headroom("400Gbps", "300m", cell=192).bytes
    assert plot.stat().st_size > 1000
