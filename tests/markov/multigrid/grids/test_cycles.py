"""In what order a cycle visits its levels."""

from __future__ import annotations

from types import SimpleNamespace

from markov.multigrid.grids.cycles import cycle


def level(name, size, told):
    """Return a level of so many states that notes what is done on it."""
    done = {
        what: lambda what=what: told.append(f"{what}{name}")
        for what in ("forward", "backward", "restrict", "prolong")
    }
    return SimpleNamespace(grid=SimpleNamespace(size=size), **done)


def test_a_level_with_far_fewer_states_is_visited_twice():
    told = []
    levels = [level(n, size, told) for n, size in enumerate((90, 10, 5))]
    cycle(levels[0], levels[1:], lambda: told.append("solve"), [2, 1, 1])
    inner = ["forward1", "restrict2", "solve", "prolong2", "backward1"]
    ends = [["forward0"] * 2, ["restrict1"], inner * 2, ["prolong1"], ["backward0"] * 2]
    assert told == [each for part in ends for each in part]


def test_a_single_level_is_solved():
    told = []
    cycle(level(0, 10, told), [], lambda: told.append("solve"), [1])
    assert told == ["solve"]
