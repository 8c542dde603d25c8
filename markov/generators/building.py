"""The states of a model and the rates between them: by plain Python for few states, on arrays or by regions for many.

Which way is taken is a function of the rules, the declared space and the start. Neither a clock nor earlier calls
decide. So the same question has the same answer to the last bit, whatever the process did before:

1. A declared space of fewer than `ARRAY_STATES` states is left to plain Python.
2. From there on the rules run on arrays. Where a start leads into a space of more than `WHOLE_SPACE` states, plain Python
   searches first, until it has found `SEARCHED_STATES` states.
3. A model without a space is searched by plain Python until `FEW_STATES` states were done, and `PYTHON_STATES` more. Then
   arrays and regions run within a box of states that its rules do not leave, where one can be found. Where none can, and a
   component may grow without bound, plain Python first searches 200,000 states (`Ways.growth_states`).
4. Rules that cannot run on arrays run once for each region with the same transitions, where these are few. Everything else
   is left to plain Python.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hopflow.checks import choice
from hopflow.errors import RuleError
from markov.computing.memory import StateLimitError
from markov.generators.array_rules.search import WHOLE_SPACE
from markov.generators.boxes import WaysInBox, WaysInGrowingBox
from markov.generators.regions import STATES_PER_RUN, predicted_count
from markov.generators.ways import FEW_STATES, MAX_STATES, Ways
from markov.models.rules import ChainModel
from markov.models.spaces import NO_END, NUMBERED

if TYPE_CHECKING:
    import scipy.sparse as sp

    from markov.generators.built_chains import Built
    from markov.generators.enumeration import Enumeration

__all__ = ["MAX_STATES", "build_chain", "generator"]

ARRAY_STATES = 256  # of a declared space: from there on arrays take less time than plain Python
SEARCHED_STATES = 500  # found by plain Python in a large space, before arrays search
PYTHON_STATES = 2_000  # done by plain Python where arrays cannot run, or there is no space
STATES_PER_WRITTEN = 50  # states of a space whose rows are written while plain Python does one
REGIONS_SHARE = 0.5  # of the time of regions that plain Python spends before

_BY = {"python": Ways.by_python, "regions": Ways.by_regions, "arrays": Ways.by_arrays}


def generator(model: ChainModel, *, reachable: bool = True, compiled: bool = True) -> sp.csr_matrix:
    """Return the generator matrix Q of a model, shape (states, states), rates in 1/s.

    Parameters
    ----------
    model
        The chain's rules and parameters.
    reachable
        With a start, only the states that it leads to; False: the whole space. `MarkovChain` has the
        states beside the matrix.
    compiled
        False runs the rules state by state as they stand, whatever the number of states.

    Returns
    -------
    scipy.sparse.csr_matrix
        Off-diagonal rates, and the diagonal that makes every row sum to zero. Each row in the order
        of its columns, none of them twice.

    Raises
    ------
    RuleError
        When the rules go wrong in a state that counts, with the state, the file and the line.
    TooLargeError
        When the matrix would not fit into memory, before it is built.

    Examples
    --------
    >>> from markov import MM1K
    >>> generator(MM1K(capacity=2)).toarray()
    array([[ -7.,   7.,   0.],
           [ 10., -17.,   7.],
           [  0.,  10., -10.]])
    """
    if not isinstance(model, ChainModel):
        raise RuleError(f"model = {model!r}: a ChainModel is expected; a matrix is one already")
    choice("reachable", reachable, (True, False))
    choice("compiled", compiled, (True, False))
    return build_chain(model, reachable=reachable, by=None if compiled else "python").Q


def build_chain(model: ChainModel, *, reachable: bool = True, by: str | None = None, most: int = MAX_STATES) -> Built:
    """Return the states of a model and its generator.

    Parameters
    ----------
    model
        Its rules and parameters.
    reachable
        Only the states that its start leads to, where it has one; False: the whole space.
    by
        ``"python"``, ``"arrays"`` or ``"regions"``: only this way; None: the way for this model.
    most
        Largest number of states; with more, TooLargeError.

    Raises
    ------
    RuleError
        When the rules go wrong in a state that counts, when there is neither a space nor a start, or
        when ``by`` names a way that these rules cannot go.
    TooLargeError
        When the states are more than ``most``, or would not fit into memory.
    ValueError
        For a component without a last value, where the start leads to many of its values.
    """
    _check_ends(model, reachable, most)
    ways = Ways(model, reachable, most)
    built = _chosen(ways) if by is None else _BY[by](ways)
    if built is None:
        raise RuleError(f"{model.name}: its rules cannot be run by {by}")
    if ways.start is not None and built.Q.shape[0] > most:
        raise StateLimitError(model.name, most)
    return ways.finite(built._replace(led_to=ways.start is not None))


def _check_ends(model: ChainModel, reachable: bool, most: int) -> None:
    """Refuse a chain of infinitely many levels at once, before its states are searched for."""
    space = model.space() if model.has_space else None
    if not isinstance(space, dict):  # another one is refused where it is read
        return
    endless = [name for name, values in space.items() if isinstance(values, range) and values.stop >= NO_END]
    if not endless:
        return
    begins = reachable and model.start() is not None
    if not begins or not Ways(model, reachable, most).search().run(FEW_STATES):
        said = f"{model.name}: {endless[0]!r} has infinitely many values (NO_END)"
        raise ValueError(
            f"{said}: stationary_by_level solves chains of infinitely many levels, or give it a last value"
        )


def _chosen(ways: Ways) -> Built:
    if ways.declared is None:
        return _without_space(ways)
    if not ARRAY_STATES <= ways.space.size < NUMBERED:
        return ways.by_python()
    return _over_space(ways) if ways.start is None else _from_start(ways)


def _over_space(ways: Ways) -> Built:
    """Build the chain on the whole space."""
    built = ways.by_arrays()
    if built is None and ways.space.size > PYTHON_STATES:
        built = ways.by_regions() if _states_for_regions(ways) <= ways.space.size else None
    return built or ways.by_python()


def _from_start(ways: Ways) -> Built:
    """Build the chain on the states that the start leads to, whose number is not known in advance."""
    search = ways.search()
    if ways.space.size > WHOLE_SPACE and search.run(SEARCHED_STATES):
        return ways.listed(search)
    if (built := ways.by_arrays()) is not None:
        return built
    return ways.listed(search) if search.run(PYTHON_STATES) else _continued(ways, ways, search)


def _without_space(ways: Ways) -> Built:
    """Build the chain of a model that declares no space: within a box, where one can be found."""
    search = ways.search()
    if search.run(min(FEW_STATES, ways.most // 2)):
        return ways.listed(search)
    hull = ways.closed_set(search)
    box = WaysInBox.of(ways, hull) if hull else WaysInGrowingBox.around(ways, search.states)
    with ways.explained():
        if box is None:
            return ways.completed(search)
        if search.run(PYTHON_STATES):
            return ways.listed(search)
        return box.by_arrays() or _continued(ways, box, search)


def _continued(plain: Ways, ways: Ways, search: Enumeration) -> Built:
    """Go on with a search by plain Python, and by regions once it has lasted half as long as these are predicted to take."""
    states = _states_for_regions(ways)
    finished = states > plain.most or search.run(int(REGIONS_SHARE * states))
    return (None if finished else ways.by_regions()) or plain.completed(search)


def _states_for_regions(ways: Ways) -> float:
    """Return how many states plain Python does in the predicted time of the regions of a space; inf where there are none."""
    if not ways.asks_everywhere:
        return float("inf")
    count = predicted_count(ways.calls, ways.space)
    return STATES_PER_RUN * count + ways.space.size / STATES_PER_WRITTEN
