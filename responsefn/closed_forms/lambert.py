"""Lambert's W, for closed forms of windows that grow exponentially: plain Python that also compiles."""

from __future__ import annotations

import math
from typing import Any

__all__ = ["lambert_w"]


def lambert_w(x: Any) -> Any:
    """Return the w > 0 with w e^w = x > 0.

    Newton's method for w + log w = log x from the approximation of Iacono and Boyd (Advances in
    Computational Mathematics 43, 2017), whose largest error is 0.7 %. Three steps leave 1e-16.
    """
    m = math.log1p(x)
    w0 = m * (1.0 - math.log1p(m) / (2.0 + m))
    w1 = w0 / (1.0 + w0) * (1.0 + math.log(x / w0))
    w2 = w1 / (1.0 + w1) * (1.0 + math.log(x / w1))
    return w2 / (1.0 + w2) * (1.0 + math.log(x / w2))
