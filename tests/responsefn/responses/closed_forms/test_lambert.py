"""Lambert's W against SciPy's."""

from __future__ import annotations

import numpy as np
from scipy.special import lambertw

from responsefn.responses.closed_forms.evaluation import LAMBERT_W
from responsefn.responses.closed_forms.lambert import lambert_w


def test_lambert_w_is_scipys_to_round_off():
    x = np.geomspace(1e-12, 1e300, 200)
    np.testing.assert_allclose([lambert_w(each) for each in x], lambertw(x).real, rtol=4e-15)


def test_lambert_w_of_an_array_is_that_of_its_entries():
    x = np.geomspace(1e-12, 1e300, 200)
    np.testing.assert_allclose(LAMBERT_W(x), [lambert_w(each) for each in x], rtol=4e-16)
