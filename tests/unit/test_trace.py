"""Traces: what they hold, how nested structures are named, and their files."""

from __future__ import annotations

import dataclasses
import json
import os
from collections import OrderedDict, namedtuple
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from parity.errors import InvalidInput
from parity.trace import Trace, flatten, join, write_atomic


class TestHolding:
    def test_order_is_kept(self) -> None:
        trace = Trace({"b": 1.0, "a": 2.0}, side="torch")
        trace.add("0", 3.0)
        assert trace.names == list(trace) == ["b", "a", "0"]
        assert len(trace) == 3
        assert "a" in trace

    def test_values_are_copied(self) -> None:
        array = np.ones(3)
        trace = Trace({"a": array})
        array[0] = 7
        assert trace["a"][0] == 1

    @pytest.mark.parametrize("value", [True, 3, 2.5, np.float32(1), 1 + 2j, [1, 2], [[1.0]]])
    def test_python_numbers(self, value: Any) -> None:
        trace = Trace({"a": value})
        np.testing.assert_array_equal(trace["a"], value)

    @pytest.mark.parametrize("value", ["text", None, object(), [{}], np.array(["a"])])
    def test_other_things_are_refused_by_name(self, value: Any) -> None:
        with pytest.raises(InvalidInput, match=r"tf: entry 'loss' holds .* a trace holds numbers"):
            Trace({"loss": value}, side="tf")

    def test_a_name_is_used_once(self) -> None:
        with pytest.raises(InvalidInput, match="'a' recorded twice"):
            Trace({"a": 1.0}).add("a", 1.0)

    def test_byte_order_is_not_a_dtype(self) -> None:
        trace = Trace({"a": np.arange(3, dtype=">f4")})
        assert trace["a"].dtype == np.dtype("float32")
        assert trace["a"].dtype.isnative
        np.testing.assert_array_equal(trace["a"], [0, 1, 2])

    def test_under_cuts_the_prefix(self) -> None:
        trace = Trace({"grad/l1/kernel": 1.0, "grad/l2": 2.0, "gradient": 3.0})
        assert list(trace.under("grad")) == list(trace.under("grad/")) == ["l1/kernel", "l2"]

    def test_extend_under_a_scope(self) -> None:
        trace = Trace()
        trace.extend({"l1": {"kernel": 1.0}}, scope="param")
        assert trace.names == ["param/l1/kernel"]


Point = namedtuple("Point", "x y")


@dataclasses.dataclass
class State:
    step: int
    slots: dict[str, float]


class TestNames:
    @pytest.mark.parametrize(
        ("tree", "names"),
        [
            (1.0, ["value"]),
            ([1, 2], ["value"]),
            ([[1, 2], [3, 4]], ["value"]),
            ([np.ones(2), np.ones(3)], ["0", "1"]),
            ((np.ones(2), {"a": 1}), ["0", "1/a"]),
            ({"q": {"l1": 1, "l2": 2}}, ["q/l1", "q/l2"]),
            (OrderedDict(b=1, a=2), ["b", "a"]),
            (Point(1, 2), ["x", "y"]),
            (State(3, {"m": 0.5}), ["step", "slots/m"]),
            ({"a": None, "b": 1}, ["b"]),
            (None, []),
            ({}, []),
        ],
    )
    def test_nested_structures(self, tree: Any, names: list[str]) -> None:
        assert [name for name, _ in flatten(tree)] == names
        assert Trace.from_nested(tree).names == names

    def test_join_leaves_out_empty_parts(self) -> None:
        assert join("", "a", "", "b") == "a/b"


ARRAYS = hnp.arrays(
    st.sampled_from(["float32", "float64", "float16", "int32", "int64", "uint8", "bool"]),
    hnp.array_shapes(min_dims=0, min_side=0, max_side=4),
)


class TestFiles:
    @given(st.dictionaries(st.text(min_size=1), ARRAYS, max_size=4), st.text())
    def test_round_trip(
        self, tmp_path_factory: pytest.TempPathFactory, arrays: dict[str, Any], side: str
    ) -> None:
        path = tmp_path_factory.mktemp("traces") / "a.safetensors"
        trace = Trace(arrays, side=side, meta={"seed": 3, "sizes": [1, 2]})
        trace.save(path)
        back = Trace.load(path)
        assert (back.names, back.side, back.meta) == (trace.names, trace.side, trace.meta)
        for name in trace:
            assert back[name].dtype == trace[name].dtype
            np.testing.assert_array_equal(back[name], trace[name], strict=True)

    def test_non_finite_values_and_strides_survive(self, tmp_path: Path) -> None:
        values = np.array([[np.nan, np.inf], [-np.inf, -0.0]]).T
        Trace({"a": values}).save(tmp_path / "a")
        np.testing.assert_array_equal(Trace.load(tmp_path / "a")["a"], values)

    def test_saving_creates_folders_and_leaves_no_rest(self, tmp_path: Path) -> None:
        path = tmp_path / "new" / "folder" / "a.safetensors"
        Trace({"a": 1.0}).save(path)
        assert [p.name for p in path.parent.iterdir()] == [path.name]

    def test_a_failed_write_leaves_the_old_file(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = tmp_path / "a"
        path.write_text("old")

        def fail(*_: Any) -> None:
            raise OSError("disk full")

        monkeypatch.setattr("os.replace", fail)
        with pytest.raises(OSError, match="disk full"):
            write_atomic(path, b"new")
        assert [p.read_text() for p in tmp_path.iterdir()] == ["old"]

    def test_a_link_stays_a_link(self, tmp_path: Path) -> None:
        target, link = tmp_path / "target", tmp_path / "link"
        link.symlink_to(target)
        for data in (b"first", b"second"):
            write_atomic(link, data)
            assert link.is_symlink()
            assert target.read_bytes() == data

    def test_a_pipe_is_written_to_and_not_replaced(self, tmp_path: Path) -> None:
        path = tmp_path / "pipe"
        os.mkfifo(path)
        reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            write_atomic(path, b"data")
            assert os.read(reader, 99) == b"data"
        finally:
            os.close(reader)
        assert path.is_fifo()

    def test_what_the_format_lacks_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(InvalidInput, match="cannot be stored"):
            Trace({"a": np.ones(2, np.longdouble)}).save(tmp_path / "a")
        with pytest.raises(InvalidInput, match="cannot be stored"):
            Trace({"a": 1.0}, meta={"a": object()}).save(tmp_path / "a")
        assert not (tmp_path / "a").exists()

    def test_a_missing_file(self, tmp_path: Path) -> None:
        with pytest.raises(InvalidInput, match="no such file"):
            Trace.load(tmp_path / "none")
        with pytest.raises(InvalidInput):
            Trace.load(tmp_path)

    @pytest.mark.parametrize("content", [b"", b"PK\x03\x04 not this", b"\x00" * 64])
    def test_a_foreign_file(self, tmp_path: Path, content: bytes) -> None:
        (tmp_path / "a").write_bytes(content)
        with pytest.raises(InvalidInput, match="a: not a readable trace"):
            Trace.load(tmp_path / "a")

    def test_other_safetensors_are_no_traces(self, tmp_path: Path) -> None:
        from safetensors.numpy import save_file

        save_file({"b": np.ones(2), "a": np.ones(3)}, tmp_path / "a")
        with pytest.raises(InvalidInput, match="not a parity-trace"):
            Trace.load(tmp_path / "a")
        assert Trace.read_safetensors(tmp_path / "a").names == ["a", "b"]

    @pytest.mark.parametrize(
        "change",
        [
            {"order": ["a"]},
            {"order": ["a", "b", "c"]},
            {"order": 3},
            {"sha256": "0" * 64},
            {"side": ...},
            {"sha256": ...},
        ],
    )
    def test_a_header_that_does_not_fit(self, tmp_path: Path, change: dict[str, Any]) -> None:
        from safetensors import safe_open
        from safetensors.numpy import load_file, save_file

        path = tmp_path / "a"
        Trace({"a": 1.0, "b": 2.0}).save(path)
        with safe_open(str(path), framework="numpy") as file:
            header = {**json.loads(file.metadata()["parity"]), **change}
        header = {key: value for key, value in header.items() if value is not ...}
        save_file(load_file(path), path, metadata={"parity": json.dumps(header)})
        with pytest.raises(InvalidInput, match=str(path)):
            Trace.load(path)

    def test_every_truncation_is_noticed(self, tmp_path: Path) -> None:
        path = tmp_path / "a"
        Trace({"a": np.arange(5.0), "b": np.arange(3)}).save(path)
        whole = path.read_bytes()
        for length in range(len(whole)):
            path.write_bytes(whole[:length])
            with pytest.raises(InvalidInput):
                Trace.load(path)

    def test_every_flipped_bit_of_the_values_is_noticed(self, tmp_path: Path) -> None:
        path = tmp_path / "a"
        trace = Trace({"a": np.arange(5.0), "b": np.arange(3)})
        trace.save(path)
        whole = path.read_bytes()
        for place in range(len(whole) - 64, len(whole)):  # 8 float64 and int64 values
            path.write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
            with pytest.raises(InvalidInput, match="damaged"):
                Trace.load(path)

    def test_a_flipped_bit_of_the_header_never_changes_values(self, tmp_path: Path) -> None:
        path = tmp_path / "a"
        trace = Trace({"a": np.arange(5.0), "b": np.arange(3)}, side="torch")
        trace.save(path)
        whole = path.read_bytes()
        for place in range(len(whole) - 64):
            path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
            try:
                back = Trace.load(path)
            except InvalidInput:
                continue
            for name in trace:  # a flip in the metadata may be harmless; values and names hold
                np.testing.assert_array_equal(back[name], trace[name], strict=True)
