"""What this machine computes with. What of it makes results differ is in ``threats.py``.

Reads versions without importing anything; settings of a framework are read only if the caller has
imported it, since importing one to describe it would change what is described.
"""

from __future__ import annotations

import os
import platform
import sys
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
    "MKL_NUM_THREADS",
    "TF_NUM_INTRAOP_THREADS",
    "TF_NUM_INTEROP_THREADS",
    "TF_CUDNN_USE_AUTOTUNE",
    "TF_XLA_FLAGS",
    "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE",
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
    facts["import_order"] = _import_order()
    return facts


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


def _torch_settings() -> dict[str, Any]:
    torch = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "get_num_threads"):
        return {}
    cuda = torch.cuda.is_available()
    return {
        "torch.threads": torch.get_num_threads(),
        "torch.interop_threads": torch.get_num_interop_threads(),
        "torch.deterministic": torch.are_deterministic_algorithms_enabled(),
        "torch.default_dtype": str(torch.get_default_dtype()).removeprefix("torch."),
        "torch.matmul_precision": torch.get_float32_matmul_precision(),
        "torch.autocast": _autocast(torch, "cuda" if cuda else "cpu"),
        "torch.onednn": torch.backends.mkldnn.is_available(),
        "torch.cuda": torch.version.cuda if cuda else None,
        "torch.gpu": torch.cuda.get_device_name(0) if cuda else None,
        "torch.matmul_tf32": cuda and torch.backends.cuda.matmul.allow_tf32,
        "torch.cudnn_tf32": cuda and torch.backends.cudnn.allow_tf32,
        "torch.cudnn_benchmark": cuda and torch.backends.cudnn.benchmark,
    }


def _autocast(torch: Any, device: str) -> str | None:
    """The dtype of an autocast that is on around the caller."""
    if not torch.is_autocast_enabled(device):
        return None
    return str(torch.get_autocast_dtype(device)).removeprefix("torch.")


def _tf_settings() -> dict[str, Any]:
    tf = sys.modules.get("tensorflow")
    facts: dict[str, Any] = {}
    if tf is not None and hasattr(tf, "config"):
        gpus = tf.config.list_physical_devices("GPU")
        facts = {
            "tf.intra_op_threads": tf.config.threading.get_intra_op_parallelism_threads(),
            "tf.inter_op_threads": tf.config.threading.get_inter_op_parallelism_threads(),
            "tf.gpus": len(gpus),
            "tf.tf32": tf.config.experimental.tensor_float_32_execution_enabled(),
            "tf.onednn": _tf_onednn(),
            "tf.jit": tf.config.optimizer.get_jit() or None,
        }
    keras = sys.modules.get("keras")
    if keras is not None and hasattr(keras, "config"):
        facts["keras.backend"] = keras.config.backend()
        facts["keras.floatx"] = keras.config.floatx()
        facts["keras.dtype_policy"] = keras.config.dtype_policy().name
    return facts


def _tf_onednn() -> bool:
    """On by default on x86, where TensorFlow has been built with it since 2.9."""
    asked = os.environ.get("TF_ENABLE_ONEDNN_OPTS")
    if asked is None:
        return platform.machine() in ("x86_64", "AMD64")
    return asked not in ("0", "false")


def _import_order() -> str | None:
    """Which framework of two was imported first."""
    order = [name for name in sys.modules if name in ("tensorflow", "torch")]
    return " before ".join(order) if len(order) == 2 else None
