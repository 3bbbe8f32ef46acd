"""What this machine computes with, and what of it makes two frameworks disagree.

Reads versions without importing anything; settings of a framework are read only if the caller has
imported it, since importing one to describe it would change what is described.
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Mapping
from importlib import metadata
from typing import Any

PACKAGES = (
    "numpy",
    "torch",
    "tensorflow",
    "keras",
    "tf_keras",
    "gymnasium",
    "gym",
    "mujoco",
    "box2d",
    "safetensors",
)
VARIABLES = (
    "TF_ENABLE_ONEDNN_OPTS",
    "TF_DETERMINISTIC_OPS",
    "NVIDIA_TF32_OVERRIDE",
    "OMP_NUM_THREADS",
    "KERAS_BACKEND",
    "TF_USE_LEGACY_KERAS",
    "XLA_FLAGS",
    "CUBLAS_WORKSPACE_CONFIG",
)


def fingerprint() -> dict[str, Any]:
    """Versions, environment variables and (for imported frameworks) numeric settings."""
    facts: dict[str, Any] = {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "processor": platform.machine(),
        "cpu": _cpu_model(),
        "cpus": os.cpu_count(),
    }
    for package in PACKAGES:
        facts[package] = _version(package)
    facts.update({name: os.environ[name] for name in VARIABLES if name in os.environ})
    facts.update(_torch_settings())
    facts.update(_tf_settings())
    return facts


def threats(facts: Mapping[str, Any]) -> list[str]:
    """What in a fingerprint makes results differ between frameworks, runs or machines."""
    found = []
    if facts.get("torch.matmul_tf32") or facts.get("torch.cudnn_tf32"):
        found.append(
            "TF32 is on in torch: float32 products keep 10 bits of mantissa "
            "(torch.backends.cuda.matmul.allow_tf32 = False, and torch.backends.cudnn.allow_tf32)"
        )
    if facts.get("tf.tf32") and facts.get("tf.gpus"):
        found.append(
            "TF32 is on in TensorFlow "
            "(tf.config.experimental.enable_tensor_float_32_execution(False))"
        )
    if facts.get("keras.dtype_policy", "float32").startswith("mixed"):
        found.append(f"Keras runs in mixed precision ({facts['keras.dtype_policy']})")
    if facts.get("gym") and _major(facts.get("numpy")) >= 2:
        found.append(
            "gym on NumPy 2: its environment checker uses the removed np.bool8; "
            "make environments with disable_env_checker=True"
        )
    if "tensorflow" in sys.modules and "torch" in sys.modules:
        order = [name for name in sys.modules if name in ("tensorflow", "torch")]
        if order[0] == "tensorflow":
            found.append("TensorFlow was imported before torch: this order has hung; turn it round")
    if facts.get("KERAS_BACKEND", "tensorflow") != "tensorflow":
        found.append(f"KERAS_BACKEND={facts['KERAS_BACKEND']}: the tf side is not TensorFlow")
    if facts.get("TF_USE_LEGACY_KERAS") in ("1", "True", "true"):
        found.append("TF_USE_LEGACY_KERAS is set: tf.keras is Keras 2")
    return found


def _cpu_model() -> str:
    """The processor's name and widest vector unit, which decides the order of sums."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            text = file.read()
    except OSError:
        return platform.processor()
    name = next((x.partition(":")[2] for x in text.splitlines() if x.startswith("model name")), "")
    unit = next((u for u in ("avx512f", "avx2", "asimd") if f" {u} " in text), "")
    return f"{name.strip()} {unit}".strip()


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _major(version: str | None) -> int:
    head = (version or "0").split(".")[0]
    return int(head) if head.isdigit() else 0


def _torch_settings() -> dict[str, Any]:
    torch = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "get_num_threads"):
        return {}
    cuda = torch.cuda.is_available()
    return {
        "torch.threads": torch.get_num_threads(),
        "torch.deterministic": torch.are_deterministic_algorithms_enabled(),
        "torch.cuda": torch.version.cuda if cuda else None,
        "torch.matmul_tf32": cuda and torch.backends.cuda.matmul.allow_tf32,
        "torch.cudnn_tf32": cuda and torch.backends.cudnn.allow_tf32,
    }


def _tf_settings() -> dict[str, Any]:
    tf = sys.modules.get("tensorflow")
    if tf is None or not hasattr(tf, "config"):
        return {}
    facts: dict[str, Any] = {
        "tf.intra_op_threads": tf.config.threading.get_intra_op_parallelism_threads(),
        "tf.gpus": len(tf.config.list_physical_devices("GPU")),
        "tf.tf32": tf.config.experimental.tensor_float_32_execution_enabled(),
    }
    keras = sys.modules.get("keras")
    if keras is not None and hasattr(keras, "config"):
        facts["keras.dtype_policy"] = keras.config.dtype_policy().name
    return facts
