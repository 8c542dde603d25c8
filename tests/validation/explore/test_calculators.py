"""The calculators: settings from addresses and back, answers as JSON, and what they need to be imported."""

from __future__ import annotations

import json
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from dfcmodel import headroom
from validation.explore.calculators import CALCULATORS, address, answer, calculator, settings

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("name", CALCULATORS)
def test_an_address_has_all_settings(name: str) -> None:
    view = calculator(name)
    texts = {}
    for knob in view.knobs:
        others = [text for text in knob.options if text != knob.start]
        texts[knob.name] = others[0] if others else "100000 5m 1 1 30000\n40000 5m 1 1 20000"
    assert settings(address(name, **texts)) == (name, texts)
    assert settings("#" + address(name)) == (name, {knob.name: knob.start for knob in view.knobs})


@pytest.mark.parametrize(
    ("fragment", "message"),
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
        ("credits?message=0B", "message = '0B': must be from 1 to 65535 bytes"),
        ("threshold?buffer=61", "Buffer of the port = 61.0: must be a whole number in 2..60"),
    ],
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
def test_calculators_need_nothing_else(
    tmp_path: Path, packages: tuple[str, ...], fragments: list[str]
) -> None:
    """As in the browser: an interpreter that has these packages alone, and no Numba."""
    site = Path(sysconfig.get_path("purelib"))
    for name in (*packages, "lazy_loader", *(f"{name}.libs" for name in packages)):
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
