"""Every misuse of `parity check` is one clear message and exit code 2, never a traceback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import parity
from parity.cli import main

pytest.importorskip("torch")
pytest.importorskip("tensorflow")

PORT = """
import dataclasses
import keras, numpy as np, tensorflow as tf, torch
from torch import nn

def t():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 2))

def k():
    return keras.Sequential([keras.Input((3,)), keras.layers.Dense(5, activation="relu"),
                             keras.layers.Dense(2)])

def k_raises():
    raise ValueError("no weights in the folder")

def k_deep():
    return tf.reshape(tf.zeros([6]), [4, 2])

def k_needs(width, depth=2):
    return keras.layers.Dense(width)

def k_none():
    return None

def k_text():
    return "a model"

def k_exits():
    raise SystemExit(3)

def k_interrupts():
    raise KeyboardInterrupt

def t_unseeded():
    return nn.Linear(3, 2)

def k_linear():
    return keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])

def t_lazy():
    torch.manual_seed(0)
    return nn.Sequential(nn.LazyLinear(5), nn.ReLU(), nn.LazyLinear(2))

def k_unbuilt():
    return keras.Sequential([keras.layers.Dense(5, activation="relu"), keras.layers.Dense(2)])

def t_dropout():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Dropout(0.5), nn.Linear(5, 2))

def k_dropout():
    return keras.Sequential([keras.Input((3,)), keras.layers.Dense(5, activation="relu"),
                             keras.layers.Dropout(0.5), keras.layers.Dense(2)])

def t_nan():
    m = t()
    with torch.no_grad():
        m[2].weight[0, 0] = float("nan")
    return m

def k_extra():
    return keras.Sequential([keras.Input((3,)), keras.layers.Dense(5, activation="relu"),
                             keras.layers.Dense(4), keras.layers.Dense(2)])

def t_meta():
    return nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 2)).to("meta")

def t_half():
    return t().half()

class TDict(nn.Module):
    def __init__(self, form):
        super().__init__()
        torch.manual_seed(0)
        self.a, self.b, self.form = nn.Linear(3, 5), nn.Linear(5, 2), form
    def forward(self, x):
        h = torch.relu(self.a(x))
        return shaped(self.form, h, self.b(h))

class KDict(keras.Model):
    def __init__(self, form):
        super().__init__()
        self.a, self.b = keras.layers.Dense(5), keras.layers.Dense(2)
        self.form = form
    def call(self, x):
        h = tf.nn.relu(self.a(x))
        return shaped(self.form, h, self.b(h))

@dataclasses.dataclass
class Out:
    hidden: object
    value: object

def shaped(form, h, y):
    return {"dict": {"h": h, "y": y}, "nested": (h, (y, [y])), "list": [h, y],
            "dataclass": Out(h, y), "none": None, "text": "value"}[form]

def t_dict(): return TDict("dict")
def k_dict(): return KDict("dict")
def t_nested(): return TDict("nested")
def k_nested(): return KDict("nested")
def t_list(): return TDict("list")
def k_list(): return KDict("list")
def t_dataclass(): return TDict("dataclass")
def k_dataclass(): return KDict("dataclass")
def t_nothing(): return TDict("none")
def k_nothing(): return KDict("none")

def loss_t(x):
    return (x ** 2).mean() if isinstance(x, torch.Tensor) else None

def loss_k(x):
    return tf.reduce_mean(x ** 2)

def k_wrong_shape():
    return keras.Sequential([keras.Input((7,)), keras.layers.Dense(5, activation="relu"),
                             keras.layers.Dense(2)])

def batch_raises():
    return np.zeros(3)[7]

def batch_text():
    return {"x": np.array(["a", "b"])}

sgd = lambda params: torch.optim.SGD(params, lr=0.1)
NUMBER = 3
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("port")
    (folder / "port.py").write_text(PORT)
    (folder / "broken.py").write_text("import no_such_library\nmodel = 1\n")
    (folder / "syntax.py").write_text("def model(:\n    pass\n")
    (folder / "leaves.py").write_text("import sys\nsys.exit(5)\n")
    (folder / "fails.py").write_text("x = 1\ny = {}\nz = y['k']\n")
    (folder / "prints.py").write_text("print('hello from the file')\nfrom port import *\n")
    (folder / "package").mkdir()
    (folder / "package" / "__init__.py").write_text("")
    (folder / "package" / "nets.py").write_text(PORT)
    (folder / "no_python.txt").write_text("nothing")
    return folder


@pytest.fixture
def run(folder: Path, monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    monkeypatch.chdir(folder)

    def call(*arguments: str) -> Result:
        return CliRunner().invoke(main, ["check", *arguments])

    return call


X = ("--input", "x=float32[4,3]")
MISUSE = [
    (("port.py:t",), ("Missing argument",)),
    (("nowhere.py:t", "port.py:k", *X), ("nowhere.py: no such file",)),
    (("prot.py:t", "port.py:k", *X), ("prot.py: no such file", "port.py")),
    (("port.py:t", "port.py:kk", *X), ("no 'kk' in port.py", "did you mean")),
    (("port.py:t_drpout", "port.py:k", *X), ("t_dropout",)),
    (("port.py", "port.py:k", *X), ("file.py:name", "port.py:")),
    (("no_python.txt:t", "port.py:k", *X), ("no_python.txt",)),
    (("nopackage.nets:t", "port.py:k", *X), ("no module named",)),
    (("package.netz:t", "port.py:k", *X), ("package.netz", "nets")),
    (("broken.py:model", "port.py:k", *X), ("no_such_library", "broken.py:1")),
    (("syntax.py:model", "port.py:k", *X), ("SyntaxError", "syntax.py:1")),
    (("leaves.py:model", "port.py:k", *X), ("SystemExit", "leaves.py:2")),
    (("fails.py:model", "port.py:k", *X), ("KeyError", "fails.py:3")),
    (("port.py:t", "port.py:k_raises", *X), ("no weights in the folder", "port.py:15")),
    (("port.py:t", "port.py:k_deep", *X), ("port.py:18",)),
    (("port.py:t", "port.py:k_needs", *X), ("width", "lambda")),
    (("port.py:t", "port.py:k_none", *X), ("k_none", "returned a NoneType", "return")),
    (("port.py:t", "port.py:k_text", *X), ("returned a str",)),
    (("port.py:t", "port.py:k_exits", *X), ("SystemExit",)),
    (("port.py:t", "port.py:NUMBER", *X), ("int",)),
    (("port.py:t", "port.py:t_dropout", *X), ("both torch",)),
    (("port.py:k", "port.py:k_dropout", *X), ("both tf",)),
    (("port.py:t", "port.py:k"), ("needs inputs", "--input")),
    (("port.py:t", "port.py:k", "--input", "x=float32[4,9]"), ("(4, 9)", "port.py:t")),
    (("port.py:t", "port.py:k", "--input", "x=float32[3]"), ("shape (None, 3)", "[...]")),
    (("port.py:t", "port.py:k_wrong_shape", *X), ("(4, 3)", "k_wrong_shape")),
    (("port.py:t", "port.py:k", "--input", "x=float32[0,3]"), ("empty",)),
    (("port.py:t", "port.py:k", "--input", "x=int64[4,3]:0..4"), ("int64", "float32")),
    (("port.py:t", "port.py:k", "--input", "x=float33[4,3]"), ("dtype",)),
    (("port.py:t", "port.py:k", *X, *X), ("given twice",)),
    (("port.py:t", "port.py:k", *X, "--inputs", "port.py:t"), ("not both",)),
    (("port.py:t", "port.py:k", *X, "--input", "y=float32[4,3]"), ("port.py:t", "y")),
    (("port.py:t", "port.py:k", "--inputs", "port.py:batch_raises"), ("IndexError",)),
    (("port.py:t", "port.py:k", "--inputs", "port.py:batch_text"), ("give numbers",)),
    (("port.py:t", "port.py:k", "--inputs", "port.py:batchraises"), ("batch_raises",)),
    (("port.py:t_meta", "port.py:k", *X), ("meta", "t_meta")),
    (("port.py:t_half", "port.py:k", *X), ("t_half", "float16")),
    (("port.py:t_nothing", "port.py:k_nothing", *X), ("returns None",)),
    (("port.py:sgd", "port.py:k", *X), ()),
    (("port.py:t", "port.py:k", *X, "--map", "none.yaml"), ("none.yaml",)),
    (("port.py:t", "port.py:k", *X, "--weights", "move"), ("copy",)),
]


@pytest.mark.parametrize(("arguments", "says"), MISUSE, ids=lambda v: " ".join(v)[:60])
def test_misuse_is_said_in_one_message(run, arguments, says) -> None:  # type: ignore[no-untyped-def]
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)
    text = result.output
    for word in says:
        assert word in text, text
    assert "Traceback" not in text
    assert "internal error" not in text
    assert "site-packages" not in text
    assert len(text.strip().splitlines()) <= 6, text


WORKS = [
    ("port.py:k", "port.py:t", *X),
    ("./port.py:t", "port.py:k", *X),
    ("package.nets:t", "package.nets:k", *X),
    ("prints.py:t", "prints.py:k", *X),
    ("port.py:t_lazy", "port.py:k", *X),
    ("port.py:t", "port.py:k_unbuilt", *X),
    ("port.py:t_lazy", "port.py:k_unbuilt", *X),
    ("port.py:t_dropout", "port.py:k_dropout", *X),
    ("port.py:t_dropout", "port.py:k_dropout", *X, "--train"),
    ("port.py:t_dict", "port.py:k_dict", *X),
    ("port.py:t_nested", "port.py:k_nested", *X),
    ("port.py:t_list", "port.py:k_list", *X),
    ("port.py:t_dataclass", "port.py:k_dataclass", *X),
]


@pytest.mark.parametrize("arguments", WORKS, ids=lambda v: " ".join(v)[:60])
def test_what_works_however_it_is_said(run, arguments) -> None:  # type: ignore[no-untyped-def]
    result = run(*arguments)
    assert result.exit_code == 0, result.output


def test_nan_weights_on_both_sides_are_no_agreement(run) -> None:  # type: ignore[no-untyped-def]
    result = run("port.py:t_nan", "port.py:k", *X)
    assert result.exit_code == 2, result.output
    assert "2/kernel" in result.output or "2.weight" in result.output
    assert "holds NaN (1 of 10 values)" in result.output


def test_a_report_can_be_had_again(run) -> None:  # type: ignore[no-untyped-def]
    """Weights that a factory draws are the same each time, and other draws are left alone."""
    torch = pytest.importorskip("torch")
    torch.manual_seed(3)
    state = torch.get_rng_state()
    pair = ("port.py:t_unseeded", "port.py:k_linear", *X, "--json")
    texts = [run(*pair).output for _ in range(2)]
    other = run(*pair, "--seed", "1").output
    entries = [json.loads(text)["entries"] for text in (*texts, other)]
    assert entries[0] == entries[1] != entries[2]
    assert torch.equal(torch.get_rng_state(), state)


def test_a_slip_of_the_pen_is_told_before_a_framework_is_imported(folder: Path) -> None:
    said = """
import sys
from parity.cli import main
try:
    main(["check", "prot.py:t", "port.py:k", "--input", "x=float32[4,3]"])
finally:
    print(sorted({"torch", "tensorflow"} & set(sys.modules)))
"""
    made = subprocess.run(
        [sys.executable, "-c", said], cwd=folder, capture_output=True, text=True, timeout=120
    )
    assert (made.returncode, made.stdout) == (2, "[]\n")
    assert "did you mean port.py" in made.stderr


def test_a_layer_without_partner_is_named(run) -> None:  # type: ignore[no-untyped-def]
    result = run("port.py:t", "port.py:k_extra", *X)
    assert result.exit_code in (1, 2), result.output
    assert "Dense" in result.output or "dense" in result.output
    assert "Traceback" not in result.output


@pytest.mark.parametrize("call", [parity.compare, parity.assert_parity])
def test_positional_sides_are_refused_with_a_hint(call) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(TypeError, match=r"torch=.*tf="):
        call([1.0], [1.0])


def test_a_closed_pipe_and_a_foreign_folder_do_no_harm(folder: Path, tmp_path: Path) -> None:
    """As a process: messages go to stderr, nothing to stdout."""
    made = subprocess.run(
        [sys.executable, "-m", "parity", "check", str(folder / "port.py") + ":tt", "b.py:k"],
        cwd=tmp_path, capture_output=True, text=True, timeout=120,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2"},
    )  # fmt: skip
    assert made.returncode == 2
    assert made.stdout == ""
    assert made.stderr.startswith("parity: ")
