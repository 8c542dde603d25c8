"""What is said of a file that cannot be read."""

from __future__ import annotations

import pytest

from markov.errors import FileError


@pytest.mark.parametrize(
    ("line", "said"), [(3, "queue.sm, line 3: no rate"), (None, "queue.sm: no rate")]
)
def test_an_error_names_the_file_and_the_line_where_it_is_known(
    line: int | None, said: str
) -> None:
    error = FileError(("queue.sm", line), "no rate")
    assert str(error) == said
    assert (error.file, error.line, error.reason) == ("queue.sm", line, "no rate")
    assert isinstance(error, ValueError)
