"""Arrivals above a threshold if a share of the traffic is small, by probability of exceedance.

Frames are independent: a fraction of them has one small size, the others have ``lossless_mtu`` bytes. The phase
is the worst phase. With two sizes the start of a frame depends only on the numbers of small and large
frames before it, and grows with both. The last frame that starts within the window therefore follows a pair of numbers
inside of the window, and its length leads out of the window. The distribution of the
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
        """Return the smallest number of cells that is exceeded with a probability of at most ``exceeded``."""
        values, where = np.unique(self.cells, return_inverse=True)
        tail = np.cumsum(np.bincount(where, self.probability)[::-1])[::-1]  # P(cells >= value)
        above = np.append(tail[1:], 0.0)
        return int(values[int(np.argmax(above <= exceeded))])

    def likeliest(self, cells: int) -> tuple[int, int]:
        """Return the most probable numbers of small and large frames with ``cells`` cells."""
        at = np.where(self.cells == cells, self.probability, -1.0)
        best = int(np.argmax(at))
        return int(self.small[best]), int(self.large[best])


def frame_counts(link: PausedLink, small: int, budget: int) -> FrameCounts:
    """Return the distribution of frames of ``small`` bytes and large ones that start in ``budget`` bytes on the wire.

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
    >>> counts = frame_counts(link, 64, 0)  # one frame starts, of either size
    >>> counts.cells.tolist(), counts.probability.tolist()
    ([1, 8], [0.5, 0.5])
    """
    share, large_size = link.small_packets, link.lossless_mtu
    light, heavy = small + link.overhead, large_size + link.overhead
    large = np.arange(budget // heavy + 1)
    counts = np.arange(-(-heavy // light) + 1)  # possible numbers of small frames before the last frame
    max_small = (budget - large * heavy) // light
    table = max_small[:, None] - counts[None, :]
    small_before = table[table >= 0]
    large_before = np.broadcast_to(large[:, None], table.shape)[table >= 0]
    chance = _binomial(small_before, large_before, share)
    remaining = budget - small_before * light - large_before * heavy
    parts = []
    for wire, last_frame, p in ((light, (1, 0), share), (heavy, (0, 1), 1.0 - share)):
        last = remaining < wire
        parts.append((small_before[last] + last_frame[0], large_before[last] + last_frame[1], chance[last] * p))
    small_frames, large_frames, probability = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    cells = small_frames * link.cells_of(small) + large_frames * link.cells_of(large_size)
    return FrameCounts(small_frames, large_frames, cells, probability)


def _binomial(small: NDArray[np.int64], large: NDArray[np.int64], share: float) -> NDArray[np.float64]:
    """Return binomial probabilities, elementwise, of ``small`` and ``large`` frame counts; small with ``share``."""
    from scipy.special import gammaln, xlog1py, xlogy

    log_ways = gammaln(small + large + 1.0) - gammaln(small + 1.0) - gammaln(large + 1.0)
    probability: NDArray[np.float64] = np.exp(log_ways + xlogy(small, share) + xlog1py(large, -share))
    return probability
