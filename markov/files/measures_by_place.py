"""Labels and rewards of a model whose file has a value of each for every state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from markov.models.functions import elementwise
from markov.models.rules import ChainModel

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["MeasuredByPlace"]


class MeasuredByPlace(ChainModel):
    """A chain model whose labels and rewards are arrays over the states of a file, read by the index of a state.

    A subclass has ``_labels`` and ``_rewards``, arrays of shape (states,) by name, and ``_places``.
    """

    if TYPE_CHECKING:

        @property
        def _labels(self) -> Mapping[str, NDArray[Any]]: ...

        @property
        def _rewards(self) -> Mapping[str, NDArray[Any]]: ...

    def _indices(self, s: Any) -> Any:
        """Return the indices of states in the file, from a ``State`` of numbers or arrays."""
        raise NotImplementedError

    @elementwise
    def labels(self, s: Any) -> Mapping[str, Any]:
        """Return whether states are in the sets that the file names."""
        indices = self._indices(s)
        return {name: values[indices] for name, values in self._labels.items()}

    @elementwise
    def rewards(self, s: Any) -> Mapping[str, Any]:
        """Return the rewards per second of the file, including rewards of transitions."""
        indices = self._indices(s)
        return {name: values[indices] for name, values in self._rewards.items()}
