"""Trace files: every damage is noticed, nothing half-written loads, memory stays small."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from parity.api import compare
from parity.errors import InvalidInput
from parity.trace import (
    Statistics,
    Trace,
    TraceWriter,
    describe,
    open_arrays,
    open_trace,
    write_trace,
)

OLD = Path(__file__).parent / "data" / "version1.trace"


def some(seed: int = 3) -> Trace:
    rng = np.random.default_rng(seed)
    trace = Trace(side="torch", meta={"seed": seed, "environment": {"numpy": "2.4"}})
    trace.add("inputs/state", rng.normal(size=(3, 11)).astype("float32"))
    trace.add("mask", np.array([True, False, True]))
    trace.add("forward/l1", rng.normal(size=(13, 7)))
    trace.add("index", np.arange(5))
    trace.add("empty", np.zeros((0, 4)))
    trace.add("phase", np.array([1 + 2j, 3j]))
    trace.add("loss", np.float64(0.25))
    return trace


@pytest.fixture
def path(tmp_path: Path) -> Path:
    some().save(tmp_path / "a.trace")
    return tmp_path / "a.trace"


class TestReading:
    def test_a_reader_is_a_trace(self, path: Path) -> None:
        trace, reader = some(), open_trace(path)
        assert (reader.names, reader.side, reader.meta) == (trace.names, trace.side, trace.meta)
        assert len(reader) == len(trace) and "loss" in reader and list(reader) == trace.names
        for name, array in reader.items():
            np.testing.assert_array_equal(array, trace[name], strict=True)
        assert list(reader.under("forward")) == ["l1"]
        assert compare(torch=reader, tf=some(), expect_zero="empty").entries[2].agrees

    def test_entries_come_in_blocks(self, path: Path) -> None:
        entry = open_trace(path).entry("forward/l1")
        blocks = [block.copy() for block in entry.blocks(10)]
        assert [b.size for b in blocks] == [10] * 9 + [1]
        np.testing.assert_array_equal(np.concatenate(blocks).reshape(13, 7), some()["forward/l1"])

    def test_a_reader_cannot_be_changed(self, path: Path) -> None:
        with pytest.raises(InvalidInput, match="cannot be added to"):
            open_trace(path).add("x", 1.0)

    def test_the_official_reader_reads_it(self, path: Path) -> None:
        from safetensors.numpy import load_file

        arrays = load_file(path)
        assert set(arrays) == set(some().names)
        np.testing.assert_array_equal(arrays["forward/l1"], some()["forward/l1"])
        np.testing.assert_array_equal(arrays["phase"], [[1, 2], [0, 3]])

    def test_version_1_still_loads(self) -> None:
        trace = Trace.load(OLD)
        assert (trace.names, trace.side, trace.meta) == (["b", "a", "flag"], "tf", {"seed": 7})
        np.testing.assert_array_equal(trace["b"], np.arange(6, dtype="float32").reshape(2, 3))
        np.testing.assert_array_equal(trace["a"], [0.5, -np.inf])
        np.testing.assert_array_equal(trace["flag"], [True, False])

    def test_version_1_is_verified(self, tmp_path: Path) -> None:
        data = bytearray(OLD.read_bytes())
        data[-1] ^= 1
        (tmp_path / "a").write_bytes(data)
        with pytest.raises(InvalidInput, match="damaged"):
            open_trace(tmp_path / "a")


class TestDamage:
    @pytest.mark.parametrize("read", [Trace.load, Trace.read_safetensors])
    def test_each_of_a_thousand_flipped_bits_is_noticed(self, path: Path, read: Any) -> None:
        whole, rng = path.read_bytes(), random.Random(5)
        places = rng.sample(range(8 * len(whole)), 1000)
        places[:64] = range(64)  # the length of the header among them
        for place in places:
            data = bytearray(whole)
            data[place // 8] ^= 1 << place % 8
            path.write_bytes(data)
            with pytest.raises(InvalidInput, match=r"a\.trace"):
                read(path)

    def test_damaged_values_name_their_entry_and_only_that(self, path: Path) -> None:
        stored = open_trace(path)._stored["forward/l1"]
        data = bytearray(path.read_bytes())
        data[stored.begin + 9] ^= 16
        path.write_bytes(data)
        reader = open_trace(path)
        np.testing.assert_array_equal(reader["mask"], [True, False, True])
        with pytest.raises(InvalidInput, match=r"a\.trace: damaged, .* entry 'forward/l1'"):
            reader["forward/l1"]
        with pytest.raises(InvalidInput, match="'forward/l1'"):
            list(reader.entry("forward/l1").blocks(10))
        with pytest.raises(InvalidInput, match="'forward/l1'"):
            compare(torch=reader, tf=some())

    def test_a_file_that_is_cut_while_open(self, path: Path) -> None:
        reader = open_trace(path)
        os.truncate(path, path.stat().st_size - 20)
        with pytest.raises(InvalidInput, match="truncated in entry"):
            list(reader.items())

    def test_bytes_behind_the_end_are_noticed(self, path: Path) -> None:
        path.write_bytes(path.read_bytes() + b"\0")
        with pytest.raises(InvalidInput, match="1 bytes after its last entry"):
            open_trace(path)

    def test_a_newer_version_says_so(self, path: Path) -> None:
        rewrite(
            path, lambda header: header["__metadata__"].update(parity='{"format":"parity-trace/9"}')
        )
        with pytest.raises(InvalidInput, match=r"version 9 of the format.*update"):
            open_trace(path)

    @pytest.mark.parametrize(
        ("facts", "says"),
        [
            ({"shape": [1 << 60, 1 << 60]}, "'x': shape .* is not 24 bytes"),
            ({"shape": [-3, -1]}, "'x' has the shape"),
            ({"shape": [True, 3]}, "'x' has the shape"),
            ({"shape": "3"}, "'x' has the shape"),
            ({"data_offsets": [0, 1 << 70]}, "'x' ends after the file does"),
            ({"data_offsets": [8, 0]}, "'x' has the shape"),
            ({"data_offsets": [0]}, "'x' lacks"),
            ({"dtype": "F32"}, "'x': shape .* is not 24 bytes"),
            ({"dtype": "F9"}, "'x' holds F9 values"),
        ],
    )
    def test_absurd_headers_are_refused(self, tmp_path: Path, facts: Any, says: str) -> None:
        tensor = {"dtype": "F64", "shape": [3], "data_offsets": [0, 24], **facts}
        raw_file(tmp_path / "a.trace", {"x": tensor}, bytes(24))
        with pytest.raises(InvalidInput, match=f"a.trace: .*{says}"):
            Trace.read_safetensors(tmp_path / "a.trace")

    @pytest.mark.parametrize("length", [0, 1, 1 << 40, (1 << 64) - 1])
    def test_a_length_that_lies_costs_no_memory(self, path: Path, length: int) -> None:
        path.write_bytes(length.to_bytes(8, "little") + path.read_bytes()[8:])
        with pytest.raises(InvalidInput, match=r"a\.trace: not a readable trace"):
            open_trace(path)

    def test_a_header_nested_too_deeply(self, tmp_path: Path) -> None:
        body = b'{"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
        (tmp_path / "a").write_bytes(len(body).to_bytes(8, "little") + body)
        with pytest.raises(InvalidInput, match="a: not a readable trace"):
            open_arrays(tmp_path / "a")


def raw_file(path: Path, header: dict[str, Any], data: bytes) -> None:
    body = json.dumps(header).encode()
    path.write_bytes(len(body).to_bytes(8, "little") + body + data)


def rewrite(path: Path, change: Any) -> None:
    """Change the header as somebody's own tool would, without the checksum."""
    whole = path.read_bytes()
    end = 8 + int.from_bytes(whole[:8], "little")
    header = json.loads(whole[8:end])
    del header["__metadata__"]["parity.sha256"]
    change(header)
    raw_file(path, header, whole[end:])


class TestWriting:
    def test_nothing_appears_before_the_end(self, tmp_path: Path) -> None:
        path = tmp_path / "a.trace"
        with TraceWriter(path, side="tf") as writer:
            writer.add("x", np.ones(3))
            assert not path.exists()
            writer.meta["steps"] = 7
        assert open_trace(path).meta == {"steps": 7}
        assert [p.name for p in tmp_path.iterdir()] == ["a.trace"]

    def test_an_exception_leaves_the_old_file(self, path: Path) -> None:
        def lost() -> None:
            with TraceWriter(path) as writer:
                writer.add("x", np.ones(3))
                raise RuntimeError("lost")

        with pytest.raises(RuntimeError, match="lost"):
            lost()
        assert Trace.load(path).names == some().names
        assert [p.name for p in path.parent.iterdir()] == ["a.trace"]

    def test_what_it_refuses(self, tmp_path: Path) -> None:
        with TraceWriter(tmp_path / "a", side="tf") as writer:
            writer.add("x", np.ones(3))
            for name, value, says in [
                ("x", 1.0, "'x' recorded twice"),
                ("s", "text", "a trace holds numbers"),
                ("w", np.ones(2, np.longdouble), "cannot be stored: entry 'w'"),
                ("__metadata__", 1.0, "cannot be stored: entry '__metadata__'"),
                ("\ud800", 1.0, "no Unicode"),
            ]:
                with pytest.raises(InvalidInput, match=says):
                    writer.add(name, value)
        with pytest.raises(InvalidInput, match="after the writer was closed"):
            writer.add("y", 1.0)
        assert Trace.load(tmp_path / "a").names == ["x"]

    def test_metadata_must_be_json(self, tmp_path: Path) -> None:
        for value in (object(), float("nan")):
            with pytest.raises(InvalidInput, match=r"a: .*not JSON"):
                Trace({"x": 1.0}, meta={"v": value}).save(tmp_path / "a")
        assert not list(tmp_path.iterdir())

    def test_an_unwritable_place(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        with pytest.raises(InvalidInput, match="cannot be written"):
            TraceWriter(tmp_path / "file" / "a.trace")

    @given(st.dictionaries(st.text(min_size=1), st.binary(max_size=40), max_size=5))
    def test_any_names_in_any_order(
        self, tmp_path_factory: pytest.TempPathFactory, entries: dict[str, bytes]
    ) -> None:
        path = tmp_path_factory.mktemp("t") / "a"
        with TraceWriter(path) as writer:
            for name, data in entries.items():
                writer.add(name, np.frombuffer(data, np.uint8))
        reader = open_trace(path)
        assert {n: a.tobytes() for n, a in reader.items()} == entries
        assert reader.names == list(entries)


KILLED = """
import sys
import numpy as np
from parity.trace import TraceWriter
print("ready", flush=True)
while True:
    with TraceWriter(sys.argv[1], meta={"whole": True}) as writer:
        for i in range(40):
            writer.add(str(i), np.full(100_000, i, "float64"))
    print("written", flush=True)
"""


def test_a_killed_writer_leaves_a_whole_file_or_none(tmp_path: Path) -> None:
    rng = random.Random(2)
    seen = set()
    for turn in range(12):
        folder = tmp_path / str(turn)
        command = [sys.executable, "-c", KILLED, str(folder / "a.trace")]
        process = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert process.stdout is not None
        for _ in range(1 + turn % 2):  # in the first file, or behind it, on machines of any speed
            process.stdout.readline()
        time.sleep(rng.uniform(0.0, 0.3))
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        for path in folder.glob("[!.]*") if folder.exists() else ():
            seen.add(path.name)
            trace = Trace.load(path)
            assert len(trace) == 40 and trace.meta == {"whole": True}
        for path in folder.glob(".a*"):  # the name of a file that was being copied
            try:
                assert len(Trace.load(path)) == 40
            except InvalidInput:
                seen.add("refused")
    assert "a.trace" in seen, "no writer ever finished: the test kills too early"


MEMORY = """
import resource, sys
import numpy as np
from parity.compare import compare_arrays  # what is imported later counts too
from parity.report import build_report
from parity.trace import TraceWriter, describe, open_trace
folder, entries, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
before = peak()
for name in "ab":
    with TraceWriter(f"{folder}/{name}.trace", side=name) as writer:
        rng = np.random.default_rng(1)
        for i in range(entries):
            values = rng.standard_normal(size, dtype=np.float32)
            values[size // 2] += (name == "b") * (i == entries - 2)
            writer.add(f"{i}", values)
            del values
sides = {name: open_trace(f"{folder}/{name}.trace") for name in "ab"}
report = build_report(sides)
statistics = [describe(sides["a"].entry(name)) for name in sides["a"]]
assert [e.name for e in report.failing] == [str(entries - 2)], report
assert report.failing[0].worst.worst == (size // 2,)
print(peak() - before)
"""


def test_a_trace_larger_than_the_memory_used(tmp_path: Path) -> None:
    """Two traces of 160 MB, in entries of 20 MB: neither one is ever held, nor an entry twice."""
    command = [sys.executable, "-c", MEMORY, str(tmp_path), "8", "5000000"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 80


class TestDetail:
    def test_statistics_are_kept_and_values_are_not(self, tmp_path: Path) -> None:
        write_trace(tmp_path / "a", some(), detail="stats")
        reader = open_trace(tmp_path / "a")
        assert (reader.detail, reader.names) == ("stats", some().names)
        entry = reader.entry("forward/l1")
        assert isinstance(entry, Statistics) and entry == describe(some()["forward/l1"])
        for read in (lambda: reader["forward/l1"], lambda: Trace.load(tmp_path / "a")):
            with pytest.raises(InvalidInput, match="statistics only"):
                read()

    def test_around_the_first_difference(self, tmp_path: Path) -> None:
        names = [f"l{i}" for i in range(9)]
        one = Trace({n: np.full(20, i + 1.0) for i, n in enumerate(names)})
        other = Trace({n: a + (n in ("l4", "l6")) for n, a in one.items()})
        for options in ({"against": other}, {"around": "l4"}):
            write_trace(tmp_path / "a", one, detail="first", **options)
            reader = open_trace(tmp_path / "a")
            full = [n for n in reader if not isinstance(reader.entry(n), Statistics)]
            assert full == ["l2", "l3", "l4", "l5", "l6"]
            assert reader.names == names
            np.testing.assert_array_equal(reader["l3"], one["l3"])

    def test_without_a_difference_statistics_remain(self, tmp_path: Path) -> None:
        write_trace(tmp_path / "a", some(), detail="first", against=some())
        reader = open_trace(tmp_path / "a")
        assert all(isinstance(reader.entry(name), Statistics) for name in reader)

    def test_the_centre_is_told_and_must_occur(self, tmp_path: Path) -> None:
        other = Trace({"x": np.ones(3), "y": np.ones(3)})
        write_trace(tmp_path / "a", Trace({"x": np.ones(3), "y": np.zeros(3)}),
                    detail="first", against=other)  # fmt: skip
        assert open_trace(tmp_path / "a").meta == {"first_difference": "y"}
        write_trace(tmp_path / "a", other, detail="first", against=other)
        assert open_trace(tmp_path / "a").meta == {"first_difference": None}
        with pytest.raises(InvalidInput, match="no entry is named 'z'"):
            write_trace(tmp_path / "b", other, detail="first", around="z")
        assert [p.name for p in tmp_path.iterdir()] == ["a"]

    def test_first_of_what_must_be_said(self, tmp_path: Path) -> None:
        for options in ({"detail": "first"}, {"detail": "full", "around": "x"}, {"detail": "all"}):
            with pytest.raises(InvalidInput, match="detail"):
                TraceWriter(tmp_path / "a", **options)

    def test_damaged_statistics_are_noticed(self, tmp_path: Path) -> None:
        write_trace(tmp_path / "a", some(), detail="stats")
        data = (tmp_path / "a").read_bytes()
        (tmp_path / "a").write_bytes(data.replace(b'min\\":', b'max\\":', 1))
        with pytest.raises(InvalidInput, match="damaged"):
            open_trace(tmp_path / "a")


VALUES = st.one_of(st.floats(-1e3, 1e3, width=32), st.sampled_from([0.0, np.nan, np.inf, -np.inf]))


@given(hnp.arrays("float32", hnp.array_shapes(max_dims=2, max_side=30), elements=VALUES))
def test_statistics_are_those_of_numpy(array: np.ndarray) -> None:
    found = describe(array)
    good = array[np.isfinite(array)].astype("float64")
    assert found.nan == np.isnan(array).sum() and found.inf == np.isinf(array).sum()
    assert found.zero == (array == 0).sum()
    if not good.size:
        assert found.min is found.mean is found.norm is None
        return
    scale = 1e-12 * max(1.0, np.abs(good).max())
    assert (found.min, found.max) == (good.min(), good.max())
    assert abs(found.mean - good.mean()) <= scale
    assert abs(found.std - good.std()) <= 1e-7 * max(1.0, np.abs(good).max())
    assert abs(found.norm - np.linalg.norm(good)) <= scale * good.size
    flat = array.reshape(-1)
    for place, value in found.samples:
        assert np.array_equal(flat[place], np.float32(value), equal_nan=True)


class TestComparingStatistics:
    def verdict(self, tmp_path: Path, one: Any, other: Any, both: bool = False) -> Any:
        write_trace(tmp_path / "a", Trace({"x": one}), detail="stats")
        write_trace(tmp_path / "b", Trace({"x": other}), detail="stats" if both else "full")
        return compare(torch=open_trace(tmp_path / "a"), tf=open_trace(tmp_path / "b"))

    @pytest.mark.parametrize("both", [False, True])
    def test_equal_bits_agree(self, tmp_path: Path, both: bool) -> None:
        values = np.random.default_rng(1).normal(size=(30, 7)).astype("float32")
        report = self.verdict(tmp_path, values, values, both)
        assert report.passed and report.values_compared == 210

    @pytest.mark.parametrize("both", [False, True])
    def test_what_is_not_proved_never_passes(self, tmp_path: Path, both: bool) -> None:
        values = np.random.default_rng(1).normal(size=(30, 7)).astype("float32")
        report = self.verdict(tmp_path, values, values * np.float32(1 + 1e-7), both)
        assert str(report.verdict) == "invalid"
        assert [p.kind for p in report.problems] == ["statistics"]
        assert report.problems[0].details == {"entries": 1, "values": 202}
        assert "not proved: of 202 values in 1 entry" in str(report)

    @pytest.mark.parametrize(
        ("change", "statistic", "says"),
        [
            (lambda x: x * 1.01, None, "first difference: x at"),
            (lambda x: np.where(x == x.max(), x + 1, x), "max", "x in its max"),
            (lambda x: np.where(x == x.min(), x - 1, x), "min", "x in its min"),
            (lambda x: np.where(x == x.max(), np.nan, x), "nan", "x in its count of NaN"),
            (lambda x: np.where(x == x.max(), np.inf, x), "inf", "x in its count of inf"),
            (
                lambda x: np.where((np.arange(210) > 30) & (np.arange(210) < 50), 0 * x, x),
                "mean",
                "x in its mean",
            ),
        ],
    )
    def test_a_statistic_too_far_apart_is_a_difference(
        self, tmp_path: Path, change: Any, statistic: str | None, says: str
    ) -> None:
        values = np.random.default_rng(4).normal(size=210)
        report = self.verdict(tmp_path, values, change(values))
        assert str(report.verdict) == "diverge"
        assert report.failing[0].worst.statistic == statistic
        assert says in str(report)

    def test_a_swap_that_no_statistic_shows_is_not_a_pass(self, tmp_path: Path) -> None:
        values = np.random.default_rng(4).normal(size=210)
        other = values.copy()
        other[[1, 2]] = other[[2, 1]]
        assert str(self.verdict(tmp_path, values, other).verdict) == "invalid"

    def test_integers_with_other_checksums_differ(self, tmp_path: Path) -> None:
        values = np.arange(210)
        other = values.copy()
        other[[1, 2]] = other[[2, 1]]
        report = self.verdict(tmp_path, values, other)
        assert str(report.verdict) == "diverge" and "in its checksum" in str(report)

    def test_correct_noise_is_never_called_a_difference(self, tmp_path: Path) -> None:
        rng = np.random.default_rng(0)
        for size in (1, 9, 1000):
            values = (rng.normal(size=size) * 10.0 ** rng.integers(-3, 4)).astype("float32")
            noise = 9e-7 * rng.uniform(-1, 1, size) * np.maximum(1, np.abs(values))
            report = self.verdict(tmp_path, values, (values + noise).astype("float32"))
            assert not report.failing
