"""What tests of several parts of dfcmodel share."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest


@pytest.fixture
def refused() -> Callable[[Iterable[str], Callable[[], object]], None]:
    """Check that a call is refused by a message that names all parts and says what is allowed."""

    def check(parts: Iterable[str], make: Callable[[], object]) -> None:
        with pytest.raises(ValueError, match=r"must|allowed|use|needed") as error:
            make()
        for part in parts:
            assert part in str(error.value)

    return check
