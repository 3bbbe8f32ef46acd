"""What of an environment makes results differ, why, and the line that mends it.

Works on a fingerprint alone, so a recorded one is judged like that of this process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

Facts = Mapping[str, Any]
_YES = ("1", "true", "True")

PRECISION, ARITHMETIC, REPEATS, TROUBLE, OTHER = 1, 2, 3, 4, 5
RANKS: Mapping[int, str] = {
    PRECISION: "changes values far beyond rounding",
    ARITHMETIC: "changes last digits: other kernels, or sums in another order",
    REPEATS: "changes last digits from run to run",
    TROUBLE: "breaks or hangs, and changes no value",
    OTHER: "not known to change a value",
}


@dataclass(frozen=True)
class Threat:
    """One finding.

    Attributes:
        fact: the name in the fingerprint; ``value`` is what stands there.
        rank: 1 is worst; what the ranks mean is in :data:`RANKS`.
        why: what it does to results.
        fix: a line to run or write.
    """

    fact: str
    value: Any
    rank: int
    why: str
    fix: str

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Change:
    """One fact in which two environments differ."""

    fact: str
    values: tuple[Any, Any]
    rank: int
    why: str

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "values": list(self.values)}


@dataclass(frozen=True)
class _Rule:
    fact: str
    found: Callable[[Any, Facts], bool]
    rank: int
    why: str
    fix: str


def threats(facts: Facts) -> list[Threat]:
    """What in a fingerprint makes results differ between frameworks, runs or machines; worst first.

    Settings of a framework that had not been imported are not in a fingerprint, and not judged.
    """
    return sorted(_threats(facts), key=lambda threat: threat.rank)


def _threats(facts: Facts) -> Iterator[Threat]:
    for rule in _RULES:
        value = facts.get(rule.fact)
        if value is not None and rule.found(value, facts):
            yield Threat(rule.fact, value, rule.rank, rule.why, rule.fix)


def environment_changes(one: Facts, other: Facts) -> list[Change]:
    """The facts in which two environments differ, those first that threaten parity most.

    A fact that only one of them has counts as a difference, but for the settings of a framework
    that the other process had not imported: nothing is known of it there.
    """
    changes = []
    for fact in dict.fromkeys([*one, *other]):
        a, b = one.get(fact), other.get(fact)
        alone = fact not in one or fact not in other
        if a == b or (alone and fact.partition(".")[0] in ("torch", "tf", "keras") and "." in fact):
            continue
        rank, why = _WEIGHTS.get(fact, (OTHER, RANKS[OTHER]))
        changes.append(Change(fact, (a, b), rank, why))
    return sorted(changes, key=lambda change: change.rank)


def _on(value: Any, _: Facts) -> bool:
    return bool(value)


def _has_gpu(facts: Facts) -> bool:
    return bool(facts.get("torch.cuda") or facts.get("tf.gpus"))


def _thread_gap(value: Any, facts: Facts) -> bool:
    """TensorFlow's 0 means: as many as there are cores."""
    other = facts.get("tf.intra_op_threads")
    if other is None:
        return bool(value != 1)
    return bool(value != (other or facts.get("cpus")))


_TORCH_TF32 = (
    "float32 products keep 10 of 23 mantissa bits on the GPU: errors of 1e-3 where 1e-7 is meant"
)
_RULES = (
    _Rule(
        "torch.matmul_tf32", _on, PRECISION, _TORCH_TF32,
        "torch.backends.cuda.matmul.allow_tf32 = False",
    ),
    _Rule(
        "torch.cudnn_tf32", _on, PRECISION, f"convolutions: {_TORCH_TF32}",
        "torch.backends.cudnn.allow_tf32 = False",
    ),
    _Rule(
        "torch.matmul_precision", lambda v, _: v != "highest", PRECISION,
        "float32 products may be computed in TF32 or bfloat16",
        "torch.set_float32_matmul_precision('highest')",
    ),
    _Rule(
        "torch.autocast", _on, PRECISION, "products run in half precision inside torch.autocast",
        "leave the torch.autocast block, or give it enabled=False",
    ),
    _Rule(
        "torch.default_dtype", lambda v, _: v != "float32", PRECISION,
        "torch's new tensors and layers are of another dtype than Keras's",
        "torch.set_default_dtype(torch.float32)",
    ),
    _Rule(
        "NVIDIA_TF32_OVERRIDE", lambda v, _: v == "1", PRECISION,
        "TF32 is forced on in every CUDA library, whatever the frameworks are told",
        "unset NVIDIA_TF32_OVERRIDE",
    ),
    _Rule(
        "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE", lambda v, _: v == "1", PRECISION,
        "torch turns TF32 on for matrix products by itself",
        "unset TORCH_ALLOW_TF32_CUBLAS_OVERRIDE",
    ),
    _Rule(
        "tf.tf32", lambda v, facts: bool(v and facts.get("tf.gpus")), PRECISION,
        "TensorFlow's float32 products keep 10 of 23 mantissa bits on the GPU; it is on by default",
        "tf.config.experimental.enable_tensor_float_32_execution(False)",
    ),
    _Rule(
        "keras.dtype_policy", lambda v, _: v != "float32", PRECISION,
        "Keras layers compute or hold values in another dtype than torch's float32",
        "keras.config.set_dtype_policy('float32')",
    ),
    _Rule(
        "keras.floatx", lambda v, _: v != "float32", PRECISION,
        "Keras makes weights and inputs of another dtype than torch's float32",
        "keras.config.set_floatx('float32'), before any layer is made",
    ),
    _Rule(
        "keras.backend", lambda v, _: v != "tensorflow", PRECISION,
        "Keras does not run on TensorFlow: the tf side is another framework",
        "export KERAS_BACKEND=tensorflow, before Keras is imported",
    ),
    _Rule(
        "KERAS_BACKEND", lambda v, facts: v != "tensorflow" and "keras.backend" not in facts,
        PRECISION, "Keras will not run on TensorFlow: the tf side is another framework",
        "export KERAS_BACKEND=tensorflow, before Keras is imported",
    ),
    _Rule(
        "TF_USE_LEGACY_KERAS", lambda v, _: v in _YES, PRECISION,
        "tf.keras is Keras 2, with other defaults than Keras 3", "unset TF_USE_LEGACY_KERAS",
    ),
    _Rule(
        "tf.onednn", _on, ARITHMETIC,
        "TensorFlow's oneDNN kernels sum in another order, and by the number of threads",
        "export TF_ENABLE_ONEDNN_OPTS=0, before TensorFlow is imported",
    ),
    _Rule(
        "torch.threads", _thread_gap, ARITHMETIC,
        "sums are split among threads: another number of them adds in another order",
        "export OMP_NUM_THREADS=1 TF_NUM_INTRAOP_THREADS=1 TF_NUM_INTEROP_THREADS=1",
    ),
    _Rule(
        "XLA_FLAGS", lambda v, _: "fast_math" in str(v), ARITHMETIC,
        "XLA may reorder and approximate operations", "take fast_math out of XLA_FLAGS",
    ),
    _Rule(
        "tf.jit", _on, ARITHMETIC,
        "XLA compiles tf.function by itself and fuses operations into others",
        "tf.config.optimizer.set_jit(False)",
    ),
    _Rule(
        "TF_XLA_FLAGS", lambda v, _: "auto_jit" in str(v), ARITHMETIC,
        "XLA compiles tf.function by itself and fuses operations into others",
        "unset TF_XLA_FLAGS",
    ),
    _Rule(
        "torch.deterministic", lambda v, facts: not v and bool(facts.get("torch.cuda")), REPEATS,
        "some of torch's CUDA kernels add in an order that changes from run to run",
        "torch.use_deterministic_algorithms(True); export CUBLAS_WORKSPACE_CONFIG=:4096:8",
    ),
    _Rule(
        "torch.cudnn_benchmark", _on, REPEATS,
        "cuDNN picks the convolution kernel that was fastest this time",
        "torch.backends.cudnn.benchmark = False",
    ),
    _Rule(
        "tf.gpus", lambda v, facts: bool(v) and facts.get("TF_DETERMINISTIC_OPS") not in _YES,
        REPEATS, "some of TensorFlow's GPU kernels add in an order that changes from run to run",
        "tf.config.experimental.enable_op_determinism()",
    ),
    _Rule(
        "gym", lambda _, facts: _major(facts.get("numpy")) >= 2, TROUBLE,
        "gym's environment checker uses np.bool8, which NumPy 2 removed",
        "gym.make(..., disable_env_checker=True), or gymnasium",
    ),
    _Rule(
        "import_order", lambda v, _: str(v).startswith("tensorflow"), TROUBLE,
        "torch imported after TensorFlow has hung: both bring their own OpenMP",
        "import torch before tensorflow",
    ),
    _Rule(
        "broken", _on, TROUBLE, "it is installed and cannot be imported, so nothing runs with it",
        "pip install --force-reinstall it; the message says what is missing",
    ),
)  # fmt: skip
_VERSION = "another version: kernels and defaults change between releases"
_WEIGHTS: Mapping[str, tuple[int, str]] = {
    **{rule.fact: (rule.rank, rule.why) for rule in _RULES},
    "torch": (ARITHMETIC, _VERSION),
    "tensorflow": (ARITHMETIC, _VERSION),
    "keras": (ARITHMETIC, _VERSION),
    "tf_keras": (ARITHMETIC, _VERSION),
    "numpy": (ARITHMETIC, _VERSION),
    "gymnasium": (ARITHMETIC, "another version: environments change their dynamics and seeding"),
    "gym": (ARITHMETIC, "another version: environments change their dynamics and seeding"),
    "mujoco": (ARITHMETIC, "another version of the simulator"),
    "box2d": (ARITHMETIC, "another version of the simulator"),
    "processor": (ARITHMETIC, "another architecture: other vector units and libraries"),
    "cpu": (ARITHMETIC, "another processor: its vector width decides the order of sums"),
    "torch.cuda": (ARITHMETIC, "CUDA on one side: a GPU sums in blocks"),
    "torch.gpu": (ARITHMETIC, "another GPU: other kernels are chosen"),
    "tf.gpus": (ARITHMETIC, "a GPU on one side: it sums in blocks"),
    "torch.interop_threads": (OTHER, "operations run side by side; each one sums alike"),
    "torch.onednn": (ARITHMETIC, "torch's convolutions and products take other kernels"),
    "tf.intra_op_threads": (ARITHMETIC, "sums are split among threads"),
    "OMP_NUM_THREADS": (ARITHMETIC, "sums are split among threads"),
    "MKL_NUM_THREADS": (ARITHMETIC, "sums are split among threads"),
    "TF_NUM_INTRAOP_THREADS": (ARITHMETIC, "sums are split among threads"),
    "TF_ENABLE_ONEDNN_OPTS": (ARITHMETIC, "TensorFlow takes other kernels"),
    "XLA_FLAGS": (ARITHMETIC, "XLA compiles otherwise"),
    "TF_DETERMINISTIC_OPS": (REPEATS, "kernels that repeat, or not"),
    "CUBLAS_WORKSPACE_CONFIG": (REPEATS, "cuBLAS repeats, or not"),
    "TF_CUDNN_USE_AUTOTUNE": (REPEATS, "cuDNN kernels are picked by their speed this time"),
}


def _major(version: Any) -> int:
    head = str(version or "0").split(".")[0]
    return int(head) if head.isdigit() else 0
