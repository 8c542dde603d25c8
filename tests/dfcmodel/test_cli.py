"""``hopflow simulate``: scenarios by name and from files, pictures, and bad input."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
import xarray as xr
from PIL import Image

import dfcmodel
from dfcmodel import CoDel, compare, load_scenario, takano2006
from responsefn import NewReno
from tests.option_objects import grouped
from tests.surface import invoke


def call(*arguments: object):
    return invoke(["simulate", *map(str, arguments)], catch_exceptions=False)


def test_scenario_by_name_with_all_outputs(tmp_path) -> None:
    out = {
        option: tmp_path / name for option, name in (("plot", "out.png"), ("netcdf", "run.nc"), ("save", "one.toml"))
    }
    options = [text for option, path in out.items() for text in (f"--{option}", path)]
    result = call("takano2006/1", "--dfc", "--tcp", "newreno", "--duration", 0.02, *options)
    assert result.exit_code == 0
    assert "NewReno" in result.output
    with Image.open(out["plot"]) as picture:
        assert picture.width > 500
    with xr.open_dataset(out["netcdf"]) as data:
        assert data["efficiency"].sizes["time"] == 20
    saved = load_scenario(out["save"])
    assert saved == replace(takano2006("1", tcp="newreno"), duration=0.02)
    again = call(out["save"])
    told = [re.search(r"target +NewReno.*", each.output) for each in (result, again)]
    assert told[0][0] == told[1][0]


def test_every_option_of_the_scenario_is_saved(tmp_path) -> None:
    file = tmp_path / "my.toml"
    options = ["--no-dfc", "--tcp", "vegas", "--host", "unshaped", "--duration", "20ms"]
    assert call("takano2006/2", *options, "--save", file).exit_code == 0
    given = takano2006("2", dfc=False, tcp="vegas", host="unshaped")
    assert load_scenario(file) == replace(given, duration=0.02)
    shorter = tmp_path / "shorter.toml"
    assert call(file, "--duration", "10ms", "--runs", 2, "--save", shorter).exit_code == 0
    assert load_scenario(shorter) == replace(given, duration=0.01)


@pytest.mark.parametrize(("level", "said"), [("packets", "packet by packet"), ("auto", "level")])
def test_the_level_can_be_chosen(level: str, said: str) -> None:
    result = call("takano2006/1", "--no-dfc", "--duration", 0.02, "--level", level)
    assert result.exit_code == 0
    assert said in result.output


def test_explain_writes_table_and_waterfall(tmp_path) -> None:
    files = {"--csv": tmp_path / "gap.csv", "--plot": tmp_path / "gap.png"}
    options = [str(part) for pair in files.items() for part in pair]
    arguments = ["explain", "takano2006/1", "--measures", "first_loss,losses", "--runs", "2"]
    arguments += ["--duration", "0.12", *options]
    result = invoke(arguments, catch_exceptions=False)
    assert result.exit_code == 0
    assert "unexplained" in files["--csv"].read_text()
    with Image.open(files["--plot"]) as picture:
        assert picture.width > 500


def test_explain_measures_from_a_time_on() -> None:
    arguments = ["explain", "takano2006/1", "--runs", "2", "--duration", "0.12"]
    late = invoke([*arguments, "--since", "60ms", "--json"], catch_exceptions=False)
    whole = invoke([*arguments, "--json"], catch_exceptions=False)
    assert late.exit_code == whole.exit_code == 0
    assert late.output != whole.output
    with pytest.raises(ValueError, match=r"since = 0\.2"):
        invoke([*arguments, "--since", "200ms"], catch_exceptions=False)


def test_animation(tmp_path) -> None:
    film = tmp_path / "queues.gif"
    assert call("takano2006/1", "--duration", 0.002, "--animation", film).exit_code == 0
    with Image.open(film) as picture:
        assert picture.n_frames == 2


def test_a_run_of_microseconds_is_animated_with_a_sample_of_its_own(tmp_path) -> None:
    film, command = tmp_path / "queues.gif", ("takano2006/1", "--level", "packets", "--duration", "500us")
    with pytest.raises(ValueError, match=r"at least two samples .* between them: give simulate a shorter sample"):
        call(*command, "--animation", film)
    assert call(*command, "--animation", film, "--sample", "25us").exit_code == 0
    with Image.open(film) as frames:
        assert frames.n_frames == 2  # the others are equal
    with pytest.raises(ValueError, match=r"^sample = 5: must be a finite number > 0 and <= 0\.0005"):
        call(*command, "--sample", "5")


def test_ensemble() -> None:
    result = call("takano2006/1", "--no-dfc", "--duration", 0.02, "--runs", 3)
    assert result.exit_code == 0
    assert "Ensemble" in result.output


def test_json_of_a_run_and_of_many() -> None:
    run = json.loads(call("takano2006/1", "--duration", "20ms", "--json").stdout)
    assert run["status"] == "completed"
    assert run["simulated_seconds"] == pytest.approx(0.02)
    assert run["measures"]["goodput"]["target"] > 0.0
    many = json.loads(call("takano2006/1", "--duration", "20ms", "--runs", 2, "--json").stdout)
    assert len(many["mean_efficiency"]["target"]) == many["runs"] == 2


def test_compare() -> None:
    path = ["--bandwidth", "6Mbps", "--rtt", "40ms", "--buffer", "20pkt", "--duration", "5s"]
    options = ["compare", "newreno", "cubic", *path, "--runs", "1", "--json"]
    found = json.loads(invoke(options, catch_exceptions=False).stdout)
    assert found["rules"] == ["NewReno()", "CUBIC()"]
    assert sorted(found["ranking"]) == ["CUBIC()", "NewReno()"]
    share = found["results"]["share"]
    assert share["CUBIC()"]["NewReno()"] + share["NewReno()"]["CUBIC()"] == pytest.approx(1.0)
    wide, seeds = (found["results"][name]["CUBIC()"] for name in ("wide", "seeds"))
    assert (wide["NewReno()"], seeds["NewReno()"]) == (True, 1)  # one seed has no interval
    assert found["results"]["alone_wide"]["CUBIC()"] is True
    options[2] = "tfrc"
    with pytest.raises(ValueError, match=r"TFRC\(\): must be a rule of a window"):
        invoke(options, catch_exceptions=False)


def test_compare_has_the_options_of_the_function() -> None:
    """The same numbers as `compare`, whose path says what was given."""
    path = ["--bandwidth", "6Mbps", "--rtt", "40ms", "--buffer", "20pkt", "--duration", "5s"]
    more = [
        "--warm-up",
        "2s",
        "--recovery",
        "own",
        "--discipline",
        "codel(target='20ms')",
        "--pacing",
        "--runs",
        "1",
    ]
    told = invoke(["compare", "newreno", *path, *more], catch_exceptions=False)
    assert "6Mbps, 40ms, 20pkt in packets of 1500 bytes" in told.stdout
    given = {"bandwidth": 500.0, "rtt": 0.04, "buffer": 20, "duration": 5.0, "runs": 1}
    same = compare(
        [NewReno()], **grouped(compare, given, warm_up=2.0, recovery=None, discipline=CoDel(0.02), pacing=True)
    )
    assert repr(same) in told.stdout
    with pytest.raises(ValueError, match="did you mean 'CoDel'"):
        invoke(
            ["compare", "newreno", *path, "--discipline", "CoDell"],
            catch_exceptions=False,
        )
    for text, message in (
        ("codel(target=20ms)", "numbers and strings in brackets"),
        ("codel(0.2)", "target = 0.2: must"),
    ):
        with pytest.raises(ValueError, match=message):
            invoke(["compare", "newreno", *path, "--discipline", text], catch_exceptions=False)


def test_all_disciplines_have_defaults() -> None:
    base = dfcmodel.FIFO.__base__
    public = [getattr(dfcmodel, name) for name in dfcmodel.__all__]
    kinds = [kind for kind in public if isinstance(kind, type) and issubclass(kind, base)]
    assert len(kinds) > 20
    for kind in kinds:
        assert type(kind()) is kind
