"""The build hook of wheels and editable installations: compilation apart from the tree that is being edited."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

pytest.importorskip("hatchling", reason="it is installed where wheels are built")
ROOT = Path(__file__).parents[3]
SCRIPT = """
import pathlib, sys
root = pathlib.Path(sys.argv[1])
assert pathlib.Path.cwd() != root
(root / "hopflow" / "__init__.py").write_text("raise ImportError")  # an edit during the compilation
import hopflow
assert pathlib.Path(hopflow.__file__).parents[1] == pathlib.Path.cwd()
objects = pathlib.Path("hopflow", "kernels", "objects")
objects.mkdir(parents=True, exist_ok=True)
assert sorted(path.name for path in objects.iterdir()) == ["old.zip"]
(objects / "new.zip").write_text(hopflow.WORD)
"""


@pytest.mark.skipif(not (ROOT / "hatch_build.py").is_file(), reason="needs a checkout")
def test_an_edit_during_the_compilation_is_not_imported(tmp_path: Path) -> None:
    compile_archives = runpy.run_path(str(ROOT / "hatch_build.py"))["compile_archives"]
    for name in ("hopflow", "responsefn", "markov", "dfcmodel"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("WORD = 'before'", encoding="utf-8")
    objects = tmp_path / "hopflow" / "kernels" / "objects"
    objects.mkdir(parents=True)
    (objects / "old.zip").write_text("old", encoding="utf-8")
    compile_archives(tmp_path, [sys.executable, "-c", SCRIPT, str(tmp_path)])
    written = {path.name: path.read_text(encoding="utf-8") for path in objects.iterdir()}
    assert written == {"old.zip": "old", "new.zip": "before"}
