"""A package compiled as a whole: its copy stands under the hash of its sources."""

from __future__ import annotations

from typing import Any

import pytest

from hopflow.kernels import package


def write(folder, factor: str):
    """Write a kernel package whose constant stands in a helper module."""
    folder.mkdir(exist_ok=True)
    (folder / "__init__.py").write_text("")
    (folder / "jit.py").write_text("compiled = entry = lambda f: f\n")
    (folder / "constants.py").write_text(f"FACTOR = {factor}\n")


def test_an_edited_constant_of_another_module_gives_another_folder(tmp_path, monkeypatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("HOPFLOW_CACHE_DIR", str(tmp_path / "cache"))
    places = []
    for factor in ("1.0", "0.5", "1.0"):
        write(tmp_path / "kernel_of_test", factor)
        package._written.cache_clear()
        places.append(package._written("kernel_of_test"))
    package._written.cache_clear()
    assert places[0] == places[2] != places[1]
    assert "FACTOR = 0.5" in (places[1] / "constants.py").read_text()


def test_a_module_that_only_imports_has_the_text_of_the_other_one(tmp_path, monkeypatch) -> None:
    """A constant has one home; an edit of it gives another folder."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("HOPFLOW_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "homes").mkdir()
    places = []
    for gain in ("0.5", "0.25"):
        write(tmp_path / "sharing_kernel", "1.0")
        text = f"from hopflow.kernels.plain_jit import inlined\n\nGAIN = {gain}\n"
        (tmp_path / "homes" / "gains.py").write_text(text)
        (tmp_path / "sharing_kernel" / "gains.py").write_text("from homes.gains import GAIN\n")
        package._written.cache_clear()
        places.append(package._written("sharing_kernel"))
    package._written.cache_clear()
    assert places[0] != places[1]
    copied = (places[1] / "gains.py").read_text()
    assert copied == "from .jit import inlined\n\nGAIN = 0.25\n"
    (tmp_path / "sharing_kernel" / "gains.py").write_text(
        "from homes.gains import GAIN\n\ndef f(x): return GAIN * x\n"
    )
    with pytest.raises(ImportError, match=r"imports homes.gains: .* must have nothing else"):
        package._written("sharing_kernel")


def test_an_unknown_package_is_refused() -> None:
    with pytest.raises(ImportError, match="no package 'no_such_kernel'"):
        package.compiled_package("no_such_kernel")


def test_a_first_compilation_is_announced_once(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("HOPFLOW_CACHE_DIR", str(tmp_path / "cache"))
    write(tmp_path / "announced_kernel", "1.0")
    code = "from .jit import entry\n\n@entry\ndef run(): return 1\n"
    (tmp_path / "announced_kernel" / "loop.py").write_text(code)
    package._written.cache_clear()
    monkeypatch.setattr(package, "folder", lambda: tmp_path)
    loop = package.loop_of("announced_kernel")
    assert not capsys.readouterr().err  # before it is called for the first time
    assert loop() == 1
    assert "compiling announced_kernel, once on this machine" in capsys.readouterr().err
    package._entries.clear()  # as in another process
    assert package.loop_of("announced_kernel")() == 1
    assert not capsys.readouterr().err
    package._written.cache_clear()


def test_a_bar_counts_functions_up_to_the_entry(monkeypatch) -> None:
    """The bar ends, and the listener goes, when the entry is compiled."""
    from numba.core import event

    shown: list[Any] = []

    class Bar:
        n = 0

        def __init__(self, **given: Any) -> None:
            self.total = given["total"]
            self.closed = False
            shown.append(self)

        def update(self, more: int) -> None:
            self.n += more

        def close(self) -> None:
            self.closed = True

    monkeypatch.setattr(package, "progress_bar", Bar)
    entry, other = object(), object()
    package.show_progress("dfcmodel.packets.kernel", entry)  # type: ignore[arg-type]
    for each in (other, entry, other):
        event.start_event("numba:compile", {"dispatcher": each})
        event.end_event("numba:compile", {"dispatcher": each})
    (bar,) = shown
    assert (bar.n, bar.closed) == (2, True)
    assert bar.total > 200  # functions of the kernel of packets
