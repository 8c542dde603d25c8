"""SciPy starts without the parts of NumPy that nothing here uses, and finds them when they are asked for."""

from __future__ import annotations

from tests.surface import printed_by

CODE = """
import sys
import numpy
listed, names = dir(numpy), list(numpy.__all__)
from markov import stationary
print(sorted({"numpy.f2py", "numpy.testing", "unittest"} & set(sys.modules)))
import scipy._lib.array_api_compat.numpy as copy
print(copy.testing is numpy.testing, hasattr(copy, "no_such_name"))
print(set(listed) <= set(dir(numpy)), names == numpy.__all__)
"""


def test_modules_of_numpy_are_loaded_where_they_are_used() -> None:
    assert printed_by("-c", CODE).split("\n")[:3] == ["[]", "True False", "True True"]
