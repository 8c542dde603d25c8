"""``hopflow response``: units, the inverse, pictures, and bad input."""

from __future__ import annotations

import pytest
from PIL import Image
from typer.testing import CliRunner

from hopflow import mbps
from responsefn import Reno, invert
from responsefn._cli import commands


def call(*arguments: object):
    return CliRunner().invoke(commands, [str(each) for each in arguments], catch_exceptions=False)


def test_units_and_bare_numbers_are_the_same() -> None:
    options = ["reno", "--p", 1e-3]
    said = call(*options, "--rtt", "40ms", "--bandwidth", "12 Mb/s").output
    assert said == call(*options, "--rtt", 0.04, "--bandwidth", 1000).output
    assert f"{Reno().rate(1e-3, 0.04):.5g} /s" in said


def test_inverse() -> None:
    result = call("--invert", "RENO", "--rate", "1Mbps", "--rtt", "100 ms")
    assert f"p = {float(invert(Reno(), mbps(1), 0.1)):.6g}" in result.output


def test_catalogue_and_picture(tmp_path) -> None:
    assert "CUBIC" in call().output
    file = tmp_path / "new" / "curves.png"
    assert call("reno", "--plot", file).exit_code == 0
    with Image.open(file) as picture:
        assert picture.width > 500


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["reno", "--rtt", "40 Mb/s"], "rtt = '40 Mb/s': must be .*ms.* alone, in s"),
        (["reno", "--rtt", "100"], "rtt = 100.*ms"),
        (["reno", "--bandwidth", "1 MB/s"], "bandwidth = '1 MB/s': must be .*in packets/s"),
        (["--invert", "reno", "--rate", "fast"], "rate = 'fast': must be .*Mb/s"),
        (["--invert", "reno"], "rate is missing"),
        (["--invert", "reno", "tfrc", "--rate", "1"], "invert = 'reno'.*tfrc"),
        (["--rate", "1Mbps"], "rate = '1Mbps': .*--invert"),
        (["--invert", "renoo", "--rate", "1"], "invert = 'renoo'.*'reno'"),
        (["renoo"], "rule = 'renoo'.*'reno'"),
    ],
)
def test_bad_input(arguments, part) -> None:
    with pytest.raises(ValueError, match=part):
        call(*arguments)
