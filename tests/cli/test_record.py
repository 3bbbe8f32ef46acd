"""``parity record`` and ``parity check run.trace``: what a file says is what one process says."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import parity
from parity.trace import Statistics, Trace, open_trace
from tests.support.environments import environment_without, run
from tests.support.records import command, found

AGREE, DIFFER, MISUSE = 0, 1, 2

TORCH = """
import torch
from torch import nn

def net():
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(3, 7), nn.LayerNorm(7), nn.ReLU(), nn.Linear(7, 2), nn.Tanh())

def images():
    torch.manual_seed(4)
    return nn.Sequential(nn.Conv2d(3, 5, 3), nn.BatchNorm2d(5), nn.ReLU(), nn.Flatten(),
                         nn.Linear(5 * 2 * 4, 2))

class Sequences(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(3, 5, batch_first=True)
        self.out = nn.Linear(5, 2)

    def forward(self, x):
        return self.out(self.lstm(x)[0])

def sequences():
    torch.manual_seed(5)
    return Sequences()

def loss(pred, target):
    return torch.mean((pred - target) ** 2) + 0.01 * torch.sum(torch.abs(pred))

def adam(params):
    return torch.optim.Adam(params, 1e-3)
"""
TF = """
import keras
import tensorflow as tf
from keras import layers

def net(epsilon=1e-3):
    return keras.Sequential([keras.Input((3,)), layers.Dense(7),
        layers.LayerNormalization(epsilon=epsilon), layers.ReLU(),
        layers.Dense(2, activation="tanh")])

def fixed():
    return net(1e-5)

def wider():
    return keras.Sequential([keras.Input((3,)), layers.Dense(7), layers.ReLU(), layers.Dense(4)])

def images():
    return keras.Sequential([keras.Input((4, 6, 3)), layers.Conv2D(5, 3),
        layers.BatchNormalization(epsilon=1e-5), layers.ReLU(), layers.Permute((3, 1, 2)),
        layers.Flatten(), layers.Dense(2)])

def sequences():
    given = keras.Input((4, 3))
    hidden = layers.LSTM(5, return_sequences=True)(given)
    return keras.Model(given, layers.Dense(2)(hidden))

def loss(pred, target):
    return tf.reduce_mean((pred - target) ** 2) + 0.02 * tf.reduce_sum(tf.abs(pred))

def adam():
    return keras.optimizers.Adam(1e-3)
"""
STATE = ("--input", "state=float32[11,3]")
PAIR = ("--input", "pred=float32[11,3]", "--input", "target=float32[11,3]")


@pytest.fixture(scope="module")
def ports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ports")
    (folder / "t.py").write_text(TORCH, encoding="utf-8")
    (folder / "k.py").write_text(TF, encoding="utf-8")
    return folder


def record(ports: Path, subject: str, out: Path, *options: object) -> None:
    result = command("record", f"{ports}/{subject}", "--out", out, *options)
    assert result.exit_code == AGREE, result.output


@pytest.mark.parametrize(
    ("torch_name", "tf_name", "inputs", "code"),
    [
        ("net", "net", STATE, DIFFER),
        ("net", "fixed", STATE, AGREE),
        ("images", "images", ("--input", "image=float32[2,3,4,6]"), AGREE),
        ("images", "images", ("--input", "image=float32[2,3,4,6]", "--train"), DIFFER),
        ("sequences", "sequences", ("--input", "x=float32[2,4,3]"), AGREE),
        ("loss", "loss", PAIR, DIFFER),
        ("adam", "adam", (), DIFFER),
    ],
)
def test_a_recording_gives_the_report_of_one_process(
    ports: Path, tmp_path: Path, torch_name: str, tf_name: str, inputs: tuple[str, ...], code: int
) -> None:
    sides = f"{ports}/t.py:{torch_name}", f"{ports}/k.py:{tf_name}"
    together = command("check", *sides, *inputs, "--json")
    record(ports, f"t.py:{torch_name}", tmp_path / "run.trace", *inputs)
    apart = command("check", tmp_path / "run.trace", sides[1], "--json")
    assert together.exit_code == apart.exit_code == code, apart.output
    assert found(apart) == found(together)


@pytest.mark.parametrize(("tf_name", "code"), [("net", DIFFER), ("fixed", AGREE)])
def test_a_tf_recording_is_checked_by_torch_with_its_weights(
    ports: Path, tmp_path: Path, tf_name: str, code: int
) -> None:
    record(ports, f"k.py:{tf_name}", tmp_path / "run.trace", *STATE)
    result = command("check", tmp_path / "run.trace", f"{ports}/t.py:net", "--json")
    assert result.exit_code == code, result.output
    document = json.loads(result.stdout)
    table = {row["torch"]: row for row in document["subject"]["table"]}
    if code == AGREE:
        assert document["evidence"]["verdict"] == "agree"
        return
    assert document["subject"]["faults"] == ["1"]
    assert table["1"]["local"] > 1e-4 > 1e-12 > table["3"]["local"]
    assert [cause["cause"] for cause in document["causes"]] == ["norm-epsilon"]


def test_two_recordings_are_compared_without_either_framework_running(
    ports: Path, tmp_path: Path
) -> None:
    record(ports, "t.py:net", tmp_path / "a.trace", *STATE)
    record(ports, "k.py:fixed", tmp_path / "b.trace", "--like", tmp_path / "a.trace")
    record(ports, "k.py:net", tmp_path / "c.trace", "--like", tmp_path / "a.trace")
    same = command("check", tmp_path / "b.trace", tmp_path / "a.trace")
    assert same.exit_code == AGREE, same.output
    other = command("check", tmp_path / "a.trace", tmp_path / "c.trace", "--json")
    assert other.exit_code == DIFFER
    assert json.loads(other.stdout)["first_divergence"] == "forward/1/output"


def test_the_file_holds_what_the_other_side_needs(ports: Path, tmp_path: Path) -> None:
    trace = parity.record(f"{ports}/t.py:net", np.ones((2, 3), np.float32))
    trace.save(tmp_path / "run.trace")
    kept = Trace.load(tmp_path / "run.trace")
    run = ("forward/1/output", "output/value", "grad/3/kernel", "grad_input/0")
    wanted = [f"{dtype}/{name}" for dtype in ("float32", "float64") for name in run]
    assert set(wanted) | {"inputs/input0", "weights/0/kernel"} <= set(kept.names)
    assert kept["weights/0/kernel"].shape == (3, 7)  # canonical: [in, out]
    assert kept.meta["environment"]["numpy"] == np.__version__
    assert kept.meta["environment"]["torch.threads"] >= 1
    assert kept.meta["subject"]["side"] == kept.side == "torch"


def test_it_works_where_the_other_framework_is_not_installed(ports: Path, tmp_path: Path) -> None:
    only_torch = environment_without("tf", tmp_path / "only-torch")
    only_tf = environment_without("torch", tmp_path / "only-tf")
    for python, absent in ((only_torch, "tensorflow"), (only_tf, "torch")):
        assert run(python, "-c", f"import {absent}").returncode != 0
    out = tmp_path / "run.trace"
    recorded = run(only_torch, "-m", "parity", "record", f"{ports}/t.py:net", *STATE, "--out", out)
    assert recorded.returncode == AGREE, recorded.stderr
    apart = run(only_tf, "-m", "parity", "check", out, f"{ports}/k.py:net", "--json")
    assert apart.returncode == DIFFER, apart.stderr
    together = command("check", f"{ports}/t.py:net", f"{ports}/k.py:net", *STATE, "--json")
    document = json.loads(apart.stdout)
    for name in ("torch", "tf", "tried"):
        document["subject"].pop(name, None)
    document.pop("reproduce")
    assert document == found(together)


def test_less_detail(ports: Path, tmp_path: Path) -> None:
    """Statistics only, or values around the first difference from another run of the same side."""
    a, b, small = (tmp_path / f"{name}.trace" for name in ("a", "b", "small"))
    record(ports, "t.py:net", a, *STATE)
    (ports / "other.py").write_text(
        TORCH.replace("nn.LayerNorm(7)", "nn.LayerNorm(7, eps=1e-3)"), encoding="utf-8"
    )
    told = command(
        "record", f"{ports}/other.py:net", *STATE, "--out", b, "--detail", "first", "--against", a
    )
    assert told.exit_code == AGREE, told.output
    assert "first difference: float32/forward/1/output; values of" in told.output
    with open_trace(b) as reader:
        full = [n for n in reader if not isinstance(reader.entry(n), Statistics)]
    assert "float32/forward/1/output" in full and len(full) == 5
    compared = command("compare", a, b)
    assert compared.exit_code == DIFFER
    assert "first difference: float32/forward/1/output at" in compared.output
    for options, said in (
        (("--detail", "stats"), "statistics and checksums only"),
        (("--detail", "first", "--against", a), "no entry differs from"),
        (("--detail", "first", "--around", "weights/1/gamma"), "first difference: weights/1/gamma"),
    ):
        copied = command("record", a, "--out", small, *options)
        assert copied.exit_code == AGREE, copied.output
        assert said in copied.output
        with open_trace(small) as reader, open_trace(a) as whole:
            assert reader.names == whole.names
    kept = small.read_bytes()
    for arguments, said in (
        (("check", small, f"{ports}/k.py:net"), "record with --detail full"),
        (("record", a, "--out", small), "say what to keep"),
        (("record", a, "--out", small, "--detail", "stats", "--steps", 3), "a trace is copied"),
        (("record", a, "--out", small, "--detail", "first"), "needs around= "),
        (("record", a, "--out", small, "--detail", "first", "--around", "nix"), "named 'nix'"),
        (("record", a, "--out", small, "--detail", "some"), "'some' is not one of"),
    ):
        result = command(*arguments)
        assert result.exit_code == MISUSE, result.output
        assert said in result.stderr, result.stderr
        assert small.read_bytes() == kept


MEMORY = """
import os, resource, sys
import numpy as np
import parity
from torch import nn
from parity.debug import module_check
from parity.recording import whole_modules
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
before = peak()
inputs = np.linspace(-1, 1, 500_000, dtype=np.float32).reshape(500, 1000)
parity.record(nn.Sequential(*(nn.Tanh() for _ in range(16))), {"x": inputs}, out=sys.argv[1])
print(peak() - before, os.path.getsize(sys.argv[1]) >> 20)
"""


def test_a_recording_larger_than_the_memory_used(tmp_path: Path) -> None:
    """Entries go to the file as they are found: one pass is held, not both, and no trace."""
    done = run(sys.executable, "-c", MEMORY, tmp_path / "large.trace")
    assert done.returncode == 0, done.stderr
    used, size = map(int, done.stdout.split())
    assert size > 300
    assert used < 0.75 * size


def test_misuse_names_what_is_wrong(ports: Path, tmp_path: Path) -> None:
    good = tmp_path / "run.trace"
    record(ports, "t.py:net", good, *STATE)
    foreign, text = tmp_path / "foreign.trace", tmp_path / "text.trace"
    Trace({"a": np.ones(3)}, side="torch").save(foreign)
    text.write_text("no trace at all", encoding="utf-8")
    cut = tmp_path / "cut.trace"
    cut.write_bytes(good.read_bytes()[:-100])
    keras = f"{ports}/k.py"
    for arguments, said in (
        ((foreign, f"{keras}:net"), "not a recording of a subject"),
        ((text, f"{keras}:net"), "text.trace"),
        ((cut, f"{keras}:net"), "cut.trace"),
        ((tmp_path / "none.trace", f"{keras}:net"), "no such file"),
        ((good, f"{ports}/t.py:net"), "are both torch"),
        ((good, f"{keras}:adam"), "give two of the same kind"),
        ((good, f"{keras}:loss"), "--as-function"),
        ((good, f"{keras}:net", "--input", "state=float32[5,3]"), "other values of the input"),
        ((good, f"{keras}:net", "--input", "x=float32[11,3]"), "with the inputs state"),
        ((good, f"{keras}:net", "--train"), "evaluation mode"),
        ((good, f"{keras}:net", "--search", "3"), "a search runs both sides"),
    ):
        result = command("check", *arguments)
        assert result.exit_code == MISUSE, result.output
        assert said in result.stderr, (arguments, result.stderr)
        assert len(result.stderr.splitlines()) < 4


def test_a_missing_layer_is_named(ports: Path, tmp_path: Path) -> None:
    record(ports, "t.py:net", tmp_path / "run.trace", *STATE)
    result = command("check", tmp_path / "run.trace", f"{ports}/k.py:wider")
    together = command("check", f"{ports}/t.py:net", f"{ports}/k.py:wider", *STATE)
    assert result.exit_code == together.exit_code != AGREE
    assert "layer_norm" in result.output


def test_recording_refuses_what_it_cannot_record(ports: Path, tmp_path: Path) -> None:
    out = tmp_path / "run.trace"
    record(ports, "k.py:net", out, *STATE)
    before = out.read_bytes()
    for arguments, said in (
        ((f"{ports}/t.py:nothing", *STATE), "no 'nothing'"),
        ((f"{ports}/t.py:net",), "needs inputs"),
        ((f"{ports}/t.py:net", "--input", "x=float32[11,4]"), "refuses inputs"),
        ((f"{ports}/k.py:fixed", "--like", out), "are both tf"),
        ((f"{ports}/t.py:adam", "--like", out), "give two of the same kind"),
    ):
        result = command("record", *arguments, "--out", out)
        assert result.exit_code == MISUSE, result.output
        assert said in result.stderr, result.stderr
        assert out.read_bytes() == before  # the old file is whole


def test_a_module_recorded_as_a_function(ports: Path, tmp_path: Path) -> None:
    (ports / "call.py").write_text(
        "import tensorflow as tf\n\ndef double(x):\n    return 2.0 * tf.tanh(x)\n", encoding="utf-8"
    )
    (ports / "doubled.py").write_text(
        "import torch\n\nclass Doubled(torch.nn.Module):\n    def forward(self, x):\n"
        "        return 2.0 * torch.tanh(x)\n\ndef make():\n    return Doubled()\n",
        encoding="utf-8",
    )
    inputs = ("--input", "x=float32[5,3]")
    record(ports, "doubled.py:make", tmp_path / "run.trace", *inputs, "--as-function")
    result = command("check", tmp_path / "run.trace", f"{ports}/call.py:double")
    assert result.exit_code == AGREE, result.output
