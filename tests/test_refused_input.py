"""Tables of refused input: a row fails unless its call raises what the table says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.refused_input import RefusedTable, Row, difference, read_table

TABLE = """\
import math

# Square roots of negative numbers.
# The message is Python's.
math.sqrt(-1.0)
x = -4.0
math.sqrt(x)
# raises ValueError: math domain|nonnegative

# Each of these rows is wrong.
x = 4.0
math.sqrt(x)
# raises ValueError: math domain
math.sqrt("4")
# raises TypeError: must be complex
math.sqrt("4")
# raises ValueError
"""


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "refused_roots.txt"
    path.write_text(TABLE)
    return path


def test_rows_are_refused_as_the_table_says_or_named(table: Path) -> None:
    _, roots, wrong = read_table(table)
    assert roots.name == "Square roots of negative numbers"
    assert [type(step) is Row for step in roots.steps] == [True, False, True]
    names = {"math": __import__("math"), "x": -4.0}
    assert [difference(row, table, names) for row in roots.steps if isinstance(row, Row)] == [None] * 2
    allowed, other_message, other_error = (row for row in wrong.steps if isinstance(row, Row))
    assert difference(allowed, table, names | {"x": 4.0}) == "is not refused with ValueError"
    assert "without 'must be complex'" in str(difference(other_message, table, names))
    with pytest.raises(TypeError, match="must be real number"):
        difference(other_error, table, names)


def test_a_call_without_an_error_is_named(table: Path) -> None:
    table.write_text("# Nothing is said.\nlen([])\n")
    with pytest.raises(AssertionError, match=r"refused_roots.txt, line 2: no error is named"):
        read_table(table)


def test_a_section_fails_with_all_its_wrong_rows(table: Path, request: pytest.FixtureRequest) -> None:
    table.write_text(TABLE.replace('math.sqrt("4")\n# raises ValueError\n', ""))
    right, wrong = RefusedTable.from_parent(request.session, path=table).collect()
    right.obj()
    with pytest.raises(pytest.fail.Exception) as caught:
        wrong.obj()
    assert [line for line in str(caught.value).splitlines() if line.startswith("line")] == [
        "line 12: math.sqrt(x)",
        "line 14: math.sqrt('4')",
    ]
