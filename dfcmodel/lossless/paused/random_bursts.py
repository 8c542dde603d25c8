"""Arrivals above a threshold if a share of the traffic is small: exceeded with a given probability.

Frames are independent: a fraction of them has one small size, the others have ``lossless_mtu`` bytes. The phase
remains the worst one. With two sizes the time at which a frame starts depends on the numbers of small and large
frames before it alone, and it grows with both. So the last frame that starts within the window is the one that
follows a pair of numbers inside of the window and whose own length leads out of it, and the distribution of the
cells is a sum of binomial probabilities over these pairs, without approximation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.lossless.paused.paused_links import PausedLink

__all__ = ["FrameCounts", "frame_counts"]


@dataclass(frozen=True, eq=False)
class FrameCounts:
    """Numbers of frames that start within a window, with their probabilities.

    Attributes
    ----------
    small, large
        Numbers of frames, shape (n,).
    cells
        Cells of these frames, shape (n,).
    probability
        Probability of each pair of numbers, shape (n,); they add up to 1.
    """

    small: NDArray[np.int64]
    large: NDArray[np.int64]
    cells: NDArray[np.int64]
    probability: NDArray[np.float64]

    def quantile(self, exceeded: float) -> int:
        """Return the smallest number of cells that is exceeded with at most a given probability."""
        values, where = np.unique(self.cells, return_inverse=True)
        tail = np.cumsum(np.bincount(where, self.probability)[::-1])[::-1]  # P(cells >= value)
        above = np.append(tail[1:], 0.0)
        return int(values[int(np.argmax(above <= exceeded))])

    def likeliest(self, cells: int) -> tuple[int, int]:
        """Return the most probable numbers of small and large frames that have this many cells."""
        at = np.where(self.cells == cells, self.probability, -1.0)
        best = int(np.argmax(at))
        return int(self.small[best]), int(self.large[best])


def frame_counts(link: PausedLink, small: int, budget: int) -> FrameCounts:
    """Return the distribution of the frames that start within a budget of bytes.

    Parameters
    ----------
    link
        ``small_packets`` is the fraction of the frames that have ``small`` bytes, between 0 and 1.
    small
        Bytes of a small frame.
    budget
        Bytes on the wire from the start of the first frame; a frame that starts at its end counts.

    Examples
    --------
    >>> from dfcmodel import PausedLink
    >>> link = PausedLink(10**10, 1500, 1500, cell=192, small_packets=0.5)
    >>> found = frame_counts(link, 64, 0)  # one frame starts, of either size
    >>> found.cells.tolist(), found.probability.tolist()
    ([1, 8], [0.5, 0.5])
    """
    share, big = link.small_packets, link.lossless_mtu
    light, heavy = small + link.overhead, big + link.overhead
    large = np.arange(budget // heavy + 1)
    counts = np.arange(-(-heavy // light) + 1)  # the numbers of small frames at which one can be the last
    most = (budget - large * heavy) // light
    table = most[:, None] - counts[None, :]
    some = table[table >= 0]
    many = np.broadcast_to(large[:, None], table.shape)[table >= 0]
    chance = _binomial(some, many, share)
    ends = budget - some * light - many * heavy
    parts = []
    for wire, more, p in ((light, (1, 0), share), (heavy, (0, 1), 1.0 - share)):
        last = ends < wire
        parts.append((some[last] + more[0], many[last] + more[1], chance[last] * p))
    few, big_ones, probability = (np.concatenate(each) for each in zip(*parts, strict=True))
    cells = few * link.cells_of(small) + big_ones * link.cells_of(big)
    return FrameCounts(few, big_ones, cells, probability)


def _binomial(small: NDArray[np.int64], large: NDArray[np.int64], share: float) -> NDArray[np.float64]:
    """Return the probability of ``small`` small frames among ``small + large``."""
    from scipy.special import gammaln, xlog1py, xlogy

    ways = gammaln(small + large + 1.0) - gammaln(small + 1.0) - gammaln(large + 1.0)
    found: NDArray[np.float64] = np.exp(ways + xlogy(small, share) + xlog1py(large, -share))
    return found
