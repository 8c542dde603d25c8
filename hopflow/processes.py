"""Worker processes that end with the computation, and pickling of user functions for them."""

from __future__ import annotations

import contextlib
import functools
import importlib
import multiprocessing
import threading
import types
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from multiprocessing.context import BaseContext
from typing import Any

__all__ = ["portable", "process_pool"]


@contextlib.contextmanager
def process_pool(jobs: int, context: BaseContext, initializer: Callable[[], None] | None = None) -> Iterator[Executor]:
    """Return a process pool; an error or Ctrl-C terminates the workers and cancels pending tasks.

    >>> with process_pool(1, multiprocessing.get_context("spawn")) as pool:
    ...     pool.submit(abs, -3).result()
    3
    """
    others = set(multiprocessing.active_children())
    with ProcessPoolExecutor(jobs, context, functools.partial(_begin, initializer)) as pool:
        try:
            yield pool
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for worker in set(multiprocessing.active_children()) - others:
                worker.terminate()  # its result is not needed any more
            raise


def _begin(initializer: Callable[[], None] | None) -> None:
    """Give tqdm a lock of this process only: a shared lock held by a terminated process is never released."""
    from tqdm import tqdm

    tqdm.set_lock(threading.RLock())
    if initializer is not None:
        initializer()


def portable(value: Any) -> Any:
    """Return a function in a form that can be pickled; return other values unchanged.

    A function at the top level of an imported module is pickled by its name. Functions of a notebook, lambdas
    and nested functions are pickled by their code, as in Dask.

    Examples
    --------
    >>> import pickle
    >>> pickle.loads(pickle.dumps(portable(lambda x: x + 1)))(2)
    3
    """
    if not isinstance(value, types.FunctionType) or _is_importable(value):
        return value
    return _ByCode(value)


def _is_importable(function: types.FunctionType) -> bool:
    """Return whether another process can import the function by its module and name."""
    if function.__module__ in (None, "__main__"):
        return False
    try:
        target: Any = importlib.import_module(function.__module__)
        for name in function.__qualname__.split("."):
            target = getattr(target, name)
    except (ImportError, AttributeError):
        return False
    return target is function


class _ByCode:
    """A function that is pickled by its code and unpickled as a plain function."""

    def __init__(self, function: types.FunctionType) -> None:
        self.function = function

    def __reduce__(self) -> tuple[Any, ...]:
        import cloudpickle

        return _load, (cloudpickle.dumps(self.function),)


def _load(code: bytes) -> Any:
    import pickle

    return pickle.loads(code)
