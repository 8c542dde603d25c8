"""The figure of README's first example, drawn by that example.

``python docs/figures/incast.py`` writes ``incast.svg`` beside this file.
"""

from __future__ import annotations

import contextlib
import os
import re
import runpy
import tempfile
from pathlib import Path
from unittest import mock

import matplotlib as mpl

README = Path(__file__).resolve().parents[2] / "README.md"


def first_example() -> str:
    """Return the code of the first Python block of README."""
    return re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)[0]


def draw(folder: Path) -> Path:
    """Run the first example in a folder and return the path of its figure."""
    dateless = mock.patch.dict(os.environ, SOURCE_DATE_EPOCH="0")  # the same bytes at any time
    salted = mpl.rc_context({"svg.hashsalt": "hopflow"})
    with tempfile.TemporaryDirectory() as scripts, contextlib.chdir(folder), dateless, salted:
        script = Path(scripts, "example.py")
        script.write_text(first_example(), encoding="utf-8")
        runpy.run_path(str(script), run_name="__main__")
    return folder / "incast.svg"


if __name__ == "__main__":
    draw(Path(__file__).parent)
