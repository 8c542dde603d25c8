"""``hopflow explore`` says where its pages are."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest


def test_explore_prints_the_addresses_as_json(tmp_path: Path) -> None:
    pytest.importorskip("bokeh", reason="needs hopflow[explore]")
    command = [sys.executable, "-m", "validation", "explore", "dfc", "--no-browser", "--json"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        text = ""
        while not text.endswith("\n}\n"):
            line = server.stdout.readline()
            assert line, text
            text += line
        server.terminate()
    said = json.loads(text)
    assert said["view"] == "dfc"
    assert set(said["addresses"]) == {
        "threshold",
        "dfc",
        "tcp",
        "headroom",
        "audit",
        "credits",
        "pool",
    }
    assert said["addresses"]["dfc"].startswith("http://127.0.0.1:")
