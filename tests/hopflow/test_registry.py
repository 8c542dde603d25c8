"""Objects in files of users: a class, an object, or a variable with the name of the kind."""

from __future__ import annotations

from pathlib import Path

import pytest

from hopflow.registry import object_of_file
from responsefn import AIMD, Reno, WindowRule

IMPORTS = "from responsefn import AIMD, Reno, WindowRule\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("class Mine(Reno):\n    pass\n", "Mine()"),
        ("first = second = AIMD(b=0.25)\n", "AIMD(b=0.25)"),
        ("other, rule = Reno(), AIMD(b=0.125)\n", "AIMD(b=0.125)"),
        ("class Mine(Reno):\n    pass\n\nother = Reno()\n", "Mine()"),
        ("class Mine(Reno):\n    pass\n\nrule = AIMD(b=0.5)\n", "AIMD(b=0.5)"),
    ],
)
def test_the_object_of_a_file(tmp_path: Path, text: str, expected: str) -> None:
    path = tmp_path / "mine.py"
    path.write_text(IMPORTS + text, encoding="utf-8")
    assert repr(object_of_file(path, "rule", WindowRule)) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "0 rules: must have one WindowRule, or a variable named rule"),
        ("a, b = Reno(), AIMD(b=0.125)\n", "2 rules: must have one"),
        ("class A(Reno):\n    pass\n\nclass B(Reno):\n    pass\n", "2 rules: must have one"),
        ("rule = 7\n", "rule is a int, must be a WindowRule"),
    ],
)
def test_a_file_without_one_object_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "mine.py"
    path.write_text(IMPORTS + text, encoding="utf-8")
    with pytest.raises(ValueError, match=f"mine.py': {message}"):
        object_of_file(path, "rule", WindowRule)


def test_a_file_that_does_not_exist_and_other_kinds(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="there is no such file"):
        object_of_file(tmp_path / "none.py", "rule", WindowRule)
    path = tmp_path / "mine.py"
    path.write_text(IMPORTS + "rule = Reno()\n", encoding="utf-8")
    assert object_of_file(path, "rule", AIMD, (Reno,)) == Reno()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"class Mine(:\n", r"', line 1: the file cannot be run: SyntaxError: invalid syntax$"),
        (b"x = 1\0\n", r"': the file cannot be run: SyntaxError: source code string cannot contain null bytes$"),
        (b"\xff\xfe", r"', line 1: the file cannot be run: SyntaxError: \(unicode error\) 'utf-8' codec"),
        (b"\nimport nowhere.at_all\n", r"', line 2: .*: ModuleNotFoundError: No module named 'nowhere'$"),
        (b"from responsefn import Nothing\n", r"', line 1: .*: ImportError: cannot import name 'Nothing'"),
        (b"x = 1\ny = x / 0\n", r"', line 2: .*: ZeroDivisionError: division by zero$"),
        (b"def f():\n    f()\nf()\n", r"', line 2: .*: RecursionError: maximum recursion depth"),
        (b"raise SystemExit(0)\n", r"', line 1: .*: SystemExit: 0$"),
        (b"raise ValueError('one\\ntwo')\n", r"', line 1: .*: ValueError: one$"),
        (b"raise ValueError\n", r"', line 1: .*: ValueError$"),
    ],
    ids=["syntax", "NUL", "encoding", "module", "name", "error", "recursion", "exit", "two lines", "no message"],
)
def test_a_file_that_cannot_be_run_is_named_with_its_line(tmp_path: Path, text: bytes, message: str) -> None:
    path = tmp_path / "mine.py"
    path.write_bytes(text)
    with pytest.raises(ValueError, match=rf"^path = '.*mine\.py{message}"):
        object_of_file(path, "rule", WindowRule)
