#!/usr/bin/env bash
# The GPU stage on a machine with a GPU and torch, TensorFlow, or both; writes the JSON report.
#
#   scripts/gpu_stage.sh [REPORT] [pytest options]      REPORT: gpu-parity.json by default
#
# Nothing needs to be installed but the framework, pytest, NumPy, click, rich and safetensors: what of
# these is missing is installed with pip. PYTHON names another interpreter, PARITY_DEVICE=cpu runs
# every body without a GPU. Exit code: pytest's.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

report="${1:-gpu-parity.json}"
shift || true
python="${PYTHON:-python3}"
device="${PARITY_DEVICE:-gpu}"

# TF32 and autocast are found by the stage itself; these must be set before CUDA starts.
export CUBLAS_WORKSPACE_CONFIG="${CUBLAS_WORKSPACE_CONFIG:-:4096:8}"
export TF_CPP_MIN_LOG_LEVEL="${TF_CPP_MIN_LOG_LEVEL:-2}"
export PYTHONPATH="$PWD${PYTHONPATH:+:$PYTHONPATH}"
if [ "$device" = gpu ]; then
  export PARITY_REQUIRE="${PARITY_REQUIRE:-gpu}"
fi

missing="$("$python" - <<'PYTHON'
from importlib.util import find_spec
needed = ("pytest", "numpy", "click", "rich", "safetensors")
print(*(name for name in needed if find_spec(name) is None))
PYTHON
)"
if [ -n "$missing" ]; then
  # shellcheck disable=SC2086
  "$python" -m pip install --quiet $missing
fi

# The plugin is found by itself where the package is installed; a bare checkout names it.
plugin="$("$python" - <<'PYTHON'
from importlib.metadata import distributions  # as pytest looks for plugins
known = any(e.value == "parity.pytest_plugin" for d in distributions() for e in d.entry_points)
print("" if known else "-p parity.pytest_plugin")
PYTHON
)"

# shellcheck disable=SC2086
exec "$python" -m pytest $plugin -m gpu tests/gpu -q --parity-device="$device" \
  --parity-json="$report" "$@"
