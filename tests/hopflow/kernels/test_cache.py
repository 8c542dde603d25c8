"""The cache folder: which one is used, entries that are damaged or of other users, full disks, killed writers."""

from __future__ import annotations

import contextlib
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hopflow.kernels import cache
from tests.surface import ROOT, printed_by

NOBODY = 65534
IS_ROOT = os.geteuid() == 0
needs_root = pytest.mark.skipif(not IS_ROOT, reason="only root can give files to another user")
ENTRIES = {
    "kernel_0123": b"machine code" * 40,
    "findings/M06": b"",
    "computed/a-b.c": bytes(range(256)) * 8,
    "code_hashes": b"\0",
}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    """The cache folder of each test, which is empty."""
    for variable, _ in cache.LOCATIONS:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir(mode=0o700)
    monkeypatch.setenv("HOPFLOW_CACHE_DIR", str(tmp_path / "cache"))
    path = cache.folder()
    assert path is not None
    return path


def size_of(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


def file_of(name: str) -> Path:
    path = cache.folder()
    assert path is not None
    return path / f"{name}.hopflow"


# Damage


def test_entries_are_read_as_written(folder):
    for name, payload in ENTRIES.items():
        assert cache.read(name) is None
        assert cache.write(name, payload)
        assert cache.read(name) == payload
    assert cache.names() == sorted(ENTRIES)
    assert cache.names("findings/") == ["findings/M06"]
    assert cache.write("code_hashes", b"new")
    assert cache.read("code_hashes") == b"new"
    assert not [path for path in folder.rglob("*") if path.name.startswith(".")]


def test_an_entry_with_a_flipped_bit_is_absent():
    draw = random.Random(1)
    for name, payload in ENTRIES.items():
        cache.write(name, payload)
        path = file_of(name)
        whole = path.read_bytes()
        positions = [draw.randrange(8 * len(whole)) for _ in range(200)]
        for position in [*positions, *(8 * n + n % 8 for n in range(min(len(whole), 70)))]:
            damaged = bytearray(whole)
            damaged[position // 8] ^= 1 << position % 8
            path.write_bytes(damaged)
            assert cache.read(name) is None, (name, position)


def test_an_entry_that_is_cut_or_longer_is_absent():
    for name, payload in ENTRIES.items():
        cache.write(name, payload)
        path = file_of(name)
        whole = path.read_bytes()
        for size in {*range(0, len(whole), 7), *range(min(len(whole), 70))}:
            path.write_bytes(whole[:size])
            assert cache.read(name) is None
        path.write_bytes(whole + b"\0")
        assert cache.read(name) is None


def test_an_entry_under_another_name_is_absent(folder):
    cache.write("findings/M06", b"proved")
    shutil.copy(file_of("findings/M06"), file_of("findings/M07"))
    (folder / "computed").mkdir(mode=0o700)
    shutil.copy(file_of("findings/M06"), file_of("computed/M06"))
    shutil.copy(file_of("findings/M06"), file_of("M06"))
    assert cache.read("findings/M06") == b"proved"
    assert [cache.read(name) for name in ("findings/M07", "computed/M06", "M06")] == [None] * 3


def test_names_lead_nowhere_else():
    for name in ("../x", "a/../x", "a/b/c", "/x", ".x", "a/.x", "", "a\0b", "a b", "a/", "ä"):
        for use in (cache.read, lambda name: cache.write(name, b"")):
            with pytest.raises(ValueError, match="must be letters"):
                use(name)
    assert not cache.write("n" * 300, b"")
    assert cache.read("n" * 300) is None


def test_what_is_no_file_is_absent(folder, tmp_path):
    cache.write("entry", b"payload")
    file_of("entry").rename(tmp_path / "elsewhere")
    file_of("entry").symlink_to(tmp_path / "elsewhere")
    file_of("folder").mkdir()
    os.mkfifo(file_of("pipe"))
    (folder / "linked").symlink_to(tmp_path, target_is_directory=True)
    for name in ("entry", "folder", "pipe", "linked/entry"):
        assert cache.read(name) is None
    assert not cache.write("linked/new", b"")
    assert not cache.write("folder", b"")
    assert cache.write("entry", b"new")
    assert cache.read("entry") == b"new"
    (folder / "file").write_bytes(b"")
    assert cache.read("file/entry") is None
    assert not cache.write("file/entry", b"")


# Other users


@needs_root
def test_files_of_another_user_are_absent(folder):
    for name in ("kernel", "findings/M06"):
        cache.write(name, b"of nobody")
        os.chown(file_of(name), NOBODY, NOBODY)
        assert cache.read(name) is None
        assert cache.write(name, b"of root")
        assert cache.read(name) == b"of root"
    os.chown(folder / "findings", NOBODY, NOBODY)
    assert cache.read("findings/M06") is None


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_files_that_others_can_write_are_absent(folder, mode):
    for name in ("kernel", "findings/M06"):
        cache.write(name, b"payload")
        file_of(name).chmod(mode)
        assert cache.read(name) is None
    cache.write("findings/M06", b"payload")
    (folder / "findings").chmod(0o770)
    assert cache.read("findings/M06") is None
    assert cache.write("findings/M06", b"new")  # which makes the folder private
    assert cache.read("findings/M06") == b"new"


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o1777])
def test_a_folder_that_others_can_write_is_not_used_and_named_once(tmp_path, monkeypatch, capsys, mode):
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(mode)
    monkeypatch.setenv("HOPFLOW_CACHE_DIR", str(shared))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for _ in range(3):
        assert cache.folder() == tmp_path / "home/.cache/hopflow"
        cache.write("entry", b"payload")
    assert list(shared.iterdir()) == []
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert f"{shared} can be written by other users (mode {mode:o})" in said
    assert f"{tmp_path / 'home/.cache/hopflow'} is used instead" in said


@needs_root
def test_a_folder_of_another_user_is_not_used(tmp_path, monkeypatch, capsys):
    foreign = tmp_path / "foreign"
    foreign.mkdir(mode=0o755)
    os.chown(foreign, NOBODY, NOBODY)
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "cache")
    os.chown(link, NOBODY, NOBODY, follow_symlinks=False)
    for path in (foreign, link):
        monkeypatch.setenv("HOPFLOW_CACHE_DIR", str(path))
        assert cache.folder() == tmp_path / "temporary" / f"hopflow-{os.geteuid()}"
        assert f"{path} belongs to another user" in capsys.readouterr().err
    os.chown(tmp_path / "temporary" / f"hopflow-{os.geteuid()}", NOBODY, NOBODY)
    assert cache.folder() is None
    assert "nothing is kept on disk" in capsys.readouterr().err
    assert not cache.write("entry", b"payload")
    assert cache.read("entry") is None
    assert cache.contents() == cache.clear() == (None, 0, 0)


def test_a_folder_that_changes_is_examined_again(folder, tmp_path, capsys):
    cache.write("entry", b"payload")
    folder.chmod(0o777)
    assert cache.folder() != folder
    assert cache.read("entry") is None
    assert str(folder) in capsys.readouterr().err


def test_a_link_of_the_user_leads_to_the_folder(folder, tmp_path, monkeypatch, capsys):
    (tmp_path / "link").symlink_to(folder)
    monkeypatch.setenv("HOPFLOW_CACHE_DIR", str(tmp_path / "link"))
    assert cache.folder() == folder
    assert capsys.readouterr().err == ""


# The choice of the folder


def test_the_folder_is_the_first_usable_one(tmp_path, monkeypatch, capsys):
    occupied = tmp_path / "a file"
    occupied.write_text("")
    for bad in range(5):
        for n, (variable, _) in enumerate(cache.LOCATIONS):
            unusable = f"{occupied}/{n}" if n % 2 else ""  # cannot be made, or is not set
            monkeypatch.setenv(variable, unusable if n < bad else str(tmp_path / f"good {n}"))
        last = tmp_path / "temporary" / f"hopflow-{os.geteuid()}"
        expected = tmp_path / f"good {bad}" / cache.LOCATIONS[bad][1] if bad < 4 else last
        assert cache.folder() == expected
        assert expected.stat().st_mode & 0o777 == 0o700
    assert capsys.readouterr().err == ""


def mounted(path: Path, options: str) -> Iterator[Path]:
    path.mkdir(parents=True)
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(path)]
    if not IS_ROOT or shutil.which("mount") is None or subprocess.run(command, check=False).returncode:
        pytest.skip("cannot mount a file system")
    try:
        yield path
    finally:
        subprocess.run(["umount", "-l", str(path)], check=True)


@pytest.fixture
def small_disk(tmp_path) -> Iterator[Path]:
    yield from mounted(tmp_path / "small", "size=64k,mode=0700")


def test_a_read_only_home_is_passed_over(tmp_path, monkeypatch):
    monkeypatch.delenv("HOPFLOW_CACHE_DIR")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home/.cache/hopflow").mkdir(parents=True, mode=0o700)
    temporary = tmp_path / "temporary" / f"hopflow-{os.geteuid()}"
    with contextlib.ExitStack() as stack:
        if IS_ROOT:
            once = contextlib.contextmanager(mounted)
            stack.enter_context(once(tmp_path / "home/.cache/hopflow/on", "mode=0700"))
            monkeypatch.setenv("HOME", str(tmp_path / "home/.cache/hopflow/on"))
            cache.write("entry", b"before")
            assert cache.read("entry") == b"before"
            path = str(tmp_path / "home/.cache/hopflow/on")
            subprocess.run(["mount", "-o", "remount,ro", path], check=True)
            assert not cache.write("entry", b"after")  # in the folder that was chosen
            assert cache.read("entry") == b"before"
            monkeypatch.setattr(cache, "_choices", {})
        else:
            (tmp_path / "home/.cache/hopflow").chmod(0o500)
        assert cache.folder() == temporary
        assert cache.write("entry", b"payload")


# No space


def test_a_full_disk_keeps_the_old_entry(small_disk, monkeypatch):
    monkeypatch.setenv("HOPFLOW_CACHE_DIR", str(small_disk))
    assert cache.write("entry", b"old" * 100)
    assert not cache.write("entry", b"n" * 100_000)
    assert not cache.write("findings/M06", b"n" * 100_000)
    (small_disk / "ballast").write_bytes(bytes(4096))
    with contextlib.suppress(OSError), (small_disk / "more ballast").open("wb") as file:
        for _ in range(100):
            file.write(bytes(4096))
            file.flush()
    assert not cache.write("entry", b"new" * 100)
    assert cache.read("entry") == b"old" * 100
    left = {path.name for path in small_disk.rglob("*") if path.is_file()}
    assert left == {"entry.hopflow", "ballast", "more ballast"}
    (small_disk / "more ballast").unlink()
    assert cache.write("entry", b"new" * 100)
    assert cache.read("entry") == b"new" * 100


def test_a_limit_of_file_sizes_keeps_the_old_entry(folder):
    cache.write("entry", b"old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, hard))
    try:
        written = cache.write("entry", b"n" * 5000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert not written
    assert cache.read("entry") == b"old"
    assert [path.name for path in folder.iterdir()] == ["entry.hopflow"]


# Several processes

WRITE_FOR_EVER = """
import sys
from hopflow.kernels import cache
payload = bytes([int(sys.argv[1])]) * 3_000_000
print(cache.folder(), flush=True)
while True:
    cache.write("entry", payload)
"""


def writer(byte: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITE_FOR_EVER, str(byte)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline().strip() == str(cache.folder())
    return process


def test_killed_writers_leave_the_old_entry_or_the_new_one(folder):
    valid = [bytes([byte]) * 3_000_000 for byte in range(2)]
    assert cache.write("entry", valid[0])
    draw = random.Random(2)
    left = 0
    for n in range(200):  # until one is killed while it writes, and eight at least
        process = writer(n % 2)
        time.sleep(draw.uniform(0, 0.02))
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        assert cache.read("entry") in valid
        left = sum(path.name.startswith(".") for path in folder.iterdir())
        if left and n >= 7:
            break
    assert left, "no process was killed while it wrote"
    assert cache.contents().entries == 1
    cache.clear()
    assert list(folder.iterdir()) == []


def test_two_processes_write_one_entry():
    valid = {bytes([byte]) * 3_000_000 for byte in range(2)}
    assert cache.write("entry", next(iter(valid)))
    processes = [writer(byte) for byte in range(2)]
    read = set()
    try:
        for _ in range(100):
            payload = cache.read("entry")
            assert payload in valid
            read.add(payload[:1])
    finally:
        for process in processes:
            process.kill()
            process.wait()
            process.stdout.close()
    assert len(read) == 2


# Removal

HEX = "0123456789abcdef" * 2
OLD = (
    f"kernel_{HEX[:24]}.py", f"kernel_{HEX[:24]}-{HEX[:12]}.code", f".kernel_{HEX[:24]}-{HEX[:12]}.code.123.456",
    f"kernel_{HEX[:24]}/__init__.py", f"kernel_{HEX[:24]}/sub/__pycache__/x.cpython-311.pyc",
    f"__pycache__/kernel_{HEX[:24]}.run-12.py311.nbi", f"__pycache__/kernel_{HEX[:24]}.run-12.py311.1.nbc",
    f"findings/M06-{HEX}.pickle", f"findings/.M06-{HEX}.pickle.123.456", f"computed/some_run-{HEX[:20]}.pickle",
    f"code_hashes-{HEX[:20]}.pickle", "code_hashes.pickle", "tmpab_cd012.tmp", "scratch_ab_cd012/jit.py",
)  # fmt: skip
OTHERS = (
    "notes.txt", "kernel_of_mine.py", "kernel_/x.py", "findings/notes.txt", "findings/M06.pickle", "src/main.py",
    "scratch_projects/thesis.tex", "scratch_ab_cd013/jit.py", "tmpab_cd013.tmp", f"papers/M06-{HEX}.pickle", "__pycache__/mine.pyc",
)  # fmt: skip


def test_clear_removes_what_hopflow_wrote_and_nothing_else(folder):
    for name in (*OLD, *OTHERS):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"old")
    (folder / "scratch_ab_cd012").chmod(0o700)
    (folder / "tmpab_cd012.tmp").chmod(0o600)
    for name, payload in ENTRIES.items():
        cache.write(name, payload)
    cache.write(f"kernel_{HEX[:24]}/loop.run", b"")
    assert cache.names() == sorted((*ENTRIES, f"kernel_{HEX[:24]}/loop.run"))
    before = cache.contents()
    # A package, a module, a finding, a result and two tables of code hashes.
    assert before.entries == len(ENTRIES) + 6
    assert before.size == sum(map(size_of, folder.rglob("*"))) - sum(size_of(folder / name) for name in OTHERS)
    assert cache.clear() == before
    left = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert left == set(OTHERS)
    assert not (folder / "computed").exists()
    assert cache.contents() == (folder, 0, 0)


def test_clear_of_a_prefix_keeps_other_entries():
    for name, payload in ENTRIES.items():
        cache.write(name, payload)
    cache.clear("findings/")
    assert cache.names() == sorted(name for name in ENTRIES if name != "findings/M06")


def test_processes_of_another_environment_use_another_folder(tmp_path):
    cache.write("entry", b"payload")
    script = "from hopflow.kernels import cache; print(cache.read('entry'))"
    for name, expected in (("cache", "b'payload'"), ("other", "None")):
        environment = {**os.environ, "HOPFLOW_CACHE_DIR": str(tmp_path / name)}
        assert printed_by("-c", script, env=environment).strip() == expected
