"""Texts parsed by several threads while garbage is collected."""

from __future__ import annotations

import gc
import sys
import threading

from hopflow.kernels.syntax_trees import syntax_tree

TEXT = "def f(a, b):\n" + "".join(
    f"    x{i} = (a + {i}) * (b - {i}) if a > {i} else [a, (b, {{'k': b}})]\n" for i in range(60)
)


class Collected:
    """An object in a circle with itself, whose end runs Python code."""

    def __init__(self) -> None:
        self.own = self

    def __del__(self) -> None:
        sum(range(50))


def test_threads_parse_at_the_same_time() -> None:
    errors: list[SystemError] = []

    def parse() -> None:
        for _ in range(60):
            _ = [Collected() for _ in range(5)]
            try:
                syntax_tree(TEXT)
            except SystemError as error:
                errors.append(error)

    threshold, interval = gc.get_threshold(), sys.getswitchinterval()
    threads = [threading.Thread(target=parse) for _ in range(4)]
    try:
        gc.set_threshold(50)
        sys.setswitchinterval(1e-6)
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        gc.set_threshold(*threshold)
        sys.setswitchinterval(interval)
    assert errors == []
