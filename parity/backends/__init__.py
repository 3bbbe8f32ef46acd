"""One adapter per framework. Importing this package imports no framework.

``to_numpy`` looks only at frameworks that the caller has already imported: a tensor of a framework
that is not in ``sys.modules`` cannot exist.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from parity.backends.base import Backend

FRAMEWORKS = ("torch", "tf", "reference")


def get_backend(side: str) -> Backend:
    """The adapter of one side: ``torch``, ``tf`` or ``reference`` (NumPy); imports its framework.

    torch is imported before TensorFlow where both are used: the other order has hung.

    Raises:
        MissingFramework: the framework is not installed.
        InvalidInput: no such side.
    """
    from parity.errors import InvalidInput, MissingFramework

    try:
        if side == "torch":
            from parity.backends.torch_backend import BACKEND as torch_backend

            return torch_backend
        if side == "tf":
            from parity.backends.tf_backend import BACKEND as tf_backend

            return tf_backend
        if side == "reference":
            from parity.backends.numpy_backend import BACKEND as numpy_backend

            return numpy_backend
    except ImportError as error:
        raise MissingFramework(
            f"side {side!r} needs the package {error.name!r}: pip install 'parity[{side}]'"
        ) from error
    raise InvalidInput(f"unknown side {side!r}; known: {', '.join(FRAMEWORKS)}")


def seen(value: Any) -> np.ndarray:
    """The values of a TensorFlow tensor, to be read only: without a copy where it is on the CPU.

    Such a tensor never changes, so neither does the array. Whatever else it is given is copied.
    """
    tf = sys.modules.get("tensorflow")
    eager = tf is not None and isinstance(value, tf.Tensor) and not isinstance(value, tf.Variable)
    if not eager or value.dtype.name == "bfloat16":
        return np.array(to_numpy(value))
    return np.asarray(value)


def to_numpy(value: Any) -> np.ndarray:
    """A NumPy view or copy of a tensor, variable, array or number of any imported framework.

    bfloat16 tensors become float32 (every bfloat16 is one); gradients and devices are dropped.
    """
    if isinstance(value, (np.ndarray, np.generic)):
        return np.asarray(value)
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        tensor = value.detach().cpu().resolve_conj().resolve_neg()
        if tensor.dtype is torch.bfloat16:
            tensor = tensor.float()
        return np.asarray(tensor.numpy())
    tf = sys.modules.get("tensorflow")
    if tf is not None and isinstance(value, tf.IndexedSlices):
        return np.asarray(tf.convert_to_tensor(value).numpy())
    if hasattr(value, "numpy") and callable(value.numpy):  # tf.Tensor, tf.Variable, keras Variable
        array = np.asarray(value.numpy())
        return array.astype(np.float32) if array.dtype.name == "bfloat16" else array
    return np.asarray(value)
