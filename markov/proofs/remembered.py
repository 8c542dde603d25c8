"""Memoized functions of a state, by the values that they read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["MemoizedFunction"]

MAX_RESULTS = 1 << 16  # of one function


class _Recorder(dict[str, Any]):
    """A state that lists the variables that are read, in the order of first use."""

    def __init__(self, state: dict[str, Any]) -> None:
        super().__init__(state)
        self.read: dict[str, None] = {}

    def __getitem__(self, name: str) -> Any:
        value = super().__getitem__(name)
        self.read[name] = None
        return value


class MemoizedFunction:
    """A function of a state with its results in a decision tree over the variables that it reads.

    Parameters
    ----------
    function
        Reads values by ``state[name]`` alone, and depends on nothing else: which variable it reads next follows from
        the values that it has read. Errors are not cached.
    """

    def __init__(self, function: Callable[[dict[str, Any]], Any]) -> None:
        self._function = function
        self._free = MAX_RESULTS
        self._root: list[Any] = []
        """A variable and the branches by its value, or None and the result; empty before the first evaluation."""

    def __call__(self, state: dict[str, Any]) -> Any:
        """Return the result in a state."""
        node = self._root
        while node:
            name, branches = node
            if name is None:
                return branches
            node = branches.get(state[name])
        return self._evaluate(state)

    def _evaluate(self, state: dict[str, Any]) -> Any:
        """Evaluate the function, and cache the result."""
        recorder = _Recorder(state)
        result = self._function(recorder)
        if self._free:
            self._free -= 1
            node = self._root
            for name in recorder.read:
                if not node:
                    node[:] = name, {}
                node = node[1].setdefault(state[name], [])
            node[:] = None, result
        return result
