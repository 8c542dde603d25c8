"""Settings as words of the module; its lines as rows."""

from __future__ import annotations

from pathlib import Path

from validation.generate.kaneko2007.unstated_parameters import CASES, read
from validation.inference.designs import settings

(CASE,) = CASES


def test_a_run_is_a_setting() -> None:
    assert len(CASE.runs) == len(settings("kaneko2007"))
    words = CASE.calls(CASE.runs[1])[0]
    options = dict(zip(words[::2], words[1::2], strict=True))
    assert options.pop("seed") == "2"
    assert options == {name: str(value) for name, value in settings("kaneko2007")[1].items()}


def test_lines_become_rows() -> None:
    rows = read(CASE.runs[0], Path(), ["pairs,Reno,BIC,10.5000,80.2500\n"])
    assert rows["pairs"] == [
        {"setting": 1, "experiment": "pairs", "first": "Reno", "second": "BIC",
         "goodput_first": 10.5, "goodput_second": 80.25}
    ]  # fmt: skip
    assert rows["settings"][0]["later"] == settings("kaneko2007")[0]["later"]
