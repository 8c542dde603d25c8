"""yang2001: the interpolation, and what is inferred from Table 4."""

from __future__ import annotations

import numpy as np
import pytest

from validation.inference import yang2001
from validation.inference.designs import PARAMETERS
from validation.inference.parameters import points
from validation.inference.table_4 import printed, simulated


def test_the_interpolation_comes_near_to_the_runs() -> None:
    """In the median of all cells, at the settings themselves: nearer than a tenth."""
    settings, values = simulated()
    found = yang2001.cells_at(points(PARAMETERS["yang2001"], settings) * 0.999)
    assert found.shape == (len(settings), len(printed().names))
    assert np.median(abs(found - values)) < 0.1


@pytest.mark.slow  # twice 512 settings drawn from the posterior: 9 s
def test_what_is_inferred() -> None:
    found = yang2001.inferred()
    assert (found.used, found.aside) == (116, 28)
    assert (
        found.covered >= 21
    )  # 25.2 expected, binomial deviation 1.6; the intervals have it within thrice that
    assert not found.compatible
    assert {each.claim for each in found.claims} == {
        "Y03",
        "Y04",
        "Y05",
        "Y06",
        "Y07",
        "Y11",
        "Y12",
    }
    cells, agree = found.further
    assert cells == 2 * 4 * 12
    # 86 expected; the errors of a row, mechanism and protocol are shared, so that some 16 groups decide
    assert agree >= 77
    queue = next(each for each in found.parameters if each.name == "buffer")
    assert float(queue.after.split()[0]) < 20  # around ten packets; the claims' default is 50
