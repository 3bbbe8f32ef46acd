"""``parity weights``: weights moved either way, from files and to files."""

from __future__ import annotations

from pathlib import Path

import keras
import numpy as np
import pytest
import torch
from click.testing import CliRunner, Result
from safetensors.torch import save_file

from parity.cli import main

AGREE, DIFFER, MISUSE = 0, 1, 2

PORT = """
import keras
from torch import nn

def torch_net():
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(8, 2))

def tf_net():
    return keras.Sequential([
        keras.Input((4, 3, 3)), keras.layers.Conv2D(4, 3), keras.layers.BatchNormalization(),
        keras.layers.Flatten(), keras.layers.Dense(2),
    ])

def unbuilt():
    return keras.Sequential([keras.layers.Dense(2)])

def linear():
    return nn.Linear(3, 2)

def narrow():
    return keras.Sequential([keras.Input((3,)), keras.layers.Dense(2, use_bias=False)])
"""


@pytest.fixture
def port(tmp_path: Path) -> Path:
    file = tmp_path / "port.py"
    file.write_text(PORT, encoding="utf-8")
    return file


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["weights", *map(str, arguments)])


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # Keras's own
def test_from_a_state_dict_to_keras_weights(port: Path, tmp_path: Path) -> None:
    source = torch.nn.Sequential(
        torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.Flatten(), torch.nn.Linear(8, 2)
    )
    save_file(source.state_dict(), tmp_path / "net.safetensors")
    target = tmp_path / "net.weights.h5"
    result = run(
        f"{port}:torch_net", f"{port}:tf_net", "--to", "tf",
        "--from", tmp_path / "net.safetensors", "--save", target,
    )  # fmt: skip
    assert result.exit_code == AGREE, result.output
    assert "8 tensors moved to tf; saved to" in result.output
    model = keras.Sequential(
        [
            keras.Input((4, 3, 3)),
            keras.layers.Conv2D(4, 3),
            keras.layers.BatchNormalization(),
            keras.layers.Flatten(),
            keras.layers.Dense(2),
        ]
    )
    model.load_weights(target)
    assert np.array_equal(
        model.layers[0].kernel.numpy(), source[0].weight.detach().numpy().transpose(2, 3, 1, 0)
    )


def test_to_torch_and_back(port: Path, tmp_path: Path) -> None:
    target = tmp_path / "net.safetensors"
    result = run(f"{port}:tf_net", f"{port}:torch_net", "--to", "torch", "--save", target)
    assert result.exit_code == AGREE, result.output
    again = run(f"{port}:tf_net", f"{port}:torch_net", "--to", "tf", "--from", target)
    assert again.exit_code == AGREE, again.output


def test_an_unbuilt_model_is_built_by_an_input(port: Path) -> None:
    refused = run(f"{port}:linear", f"{port}:unbuilt", "--to", "tf")
    assert refused.exit_code == MISUSE and "not built yet" in refused.output
    result = run(f"{port}:linear", f"{port}:unbuilt", "--to", "tf", "--input", "x=float32[5,3]")
    assert result.exit_code == AGREE, result.output


def test_what_has_no_partner_is_listed_and_nothing_moved(port: Path) -> None:
    result = run(f"{port}:linear", f"{port}:narrow", "--to", "tf")
    assert result.exit_code == DIFFER
    assert "bias (2,) is a weight of torch only" in result.output
    assert "nothing was moved" in result.output


def test_files_of_the_wrong_kind_are_refused(port: Path, tmp_path: Path) -> None:
    sides = f"{port}:torch_net", f"{port}:tf_net"
    missing = run(*sides, "--to", "tf", "--from", tmp_path / "none.safetensors")
    assert missing.exit_code == MISUSE and "no such file" in missing.output
    odd = run(*sides, "--to", "tf", "--save", tmp_path / "net.npz")
    assert odd.exit_code == MISUSE and ".weights.h5 or .keras" in odd.output
