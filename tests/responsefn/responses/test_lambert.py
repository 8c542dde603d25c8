"""Lambert's W against SciPy's."""

from __future__ import annotations

import numpy as np
from scipy.special import lambertw

from responsefn.responses.lambert import lambert_w


def test_lambert_w_is_scipys_to_round_off():
    x = np.geomspace(1e-12, 1e300, 200)
    np.testing.assert_allclose([lambert_w(each) for each in x], lambertw(x).real, rtol=4e-15)
