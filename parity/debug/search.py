"""Looks for inputs on which two sides differ although they agree on the given ones.

The given inputs say what is legal: which are integers and in what range, which are masks,
probabilities, never negative. Within that, Hypothesis tries zeros, ties, bounds, extreme scales and
other sizes, and shrinks what it finds to the smallest example, which is printed as a test to paste.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from parity import progress
from parity.debug.calls import Caller
from parity.debug.functions import comparable
from parity.debug.subjects import Subject
from parity.errors import InvalidInput, MissingFramework
from parity.tolerance import SAME_NUMBER, SEARCH_BOUND, float32_rounding_bound

Arrays = dict[str, np.ndarray]
_SPECIAL = (0.0, 1.0, -1.0, 0.5, 2.0, 1e-3, 1e-5, 1e-7, 1e-8, 100.0, 1e4)


@dataclass(frozen=True)
class Domain:
    """What may stand in one input, as the given array shows it."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    low: float
    high: float
    binary: bool = False
    simplex: bool = False

    @classmethod
    def of(cls, array: np.ndarray) -> Domain:
        array = np.asarray(array)
        if array.dtype.kind == "b" or array.size == 0:
            return cls(array.dtype, array.shape, 0, 1, binary=True)
        low, high = float(array.min()), float(array.max())
        values = set(np.unique(array).tolist())
        if array.dtype.kind in "iu":
            return cls(array.dtype, array.shape, low, high)
        if values <= {0.0, 1.0}:
            return cls(array.dtype, array.shape, 0, 1, binary=True)
        sums = array.sum(-1) if array.ndim else np.zeros(1)
        if low >= 0 and array.ndim > 1 and np.allclose(sums, 1.0, atol=SAME_NUMBER):
            return cls(array.dtype, array.shape, 0.0, 1.0, simplex=True)
        if low >= 0 and high <= 1:
            return cls(array.dtype, array.shape, 0.0, 1.0)
        reach = 4.0 * max(abs(low), abs(high), 1.0)
        return cls(array.dtype, array.shape, 0.0 if low >= 0 else -reach, reach)


@dataclass(frozen=True)
class Found:
    """Inputs on which the sides differ.

    Attributes:
        inputs: the smallest ones that were found.
        tried: how many were tried.
        rich: others that were found, before they were made smaller: they tell more of the cause.
    """

    inputs: Arrays | None
    tried: int
    rich: Arrays | None = None


def search(
    subjects: Mapping[str, Subject],
    given: Mapping[str, np.ndarray],
    examples: int,
    *,
    seed: int = 0,
) -> Found:
    """Try ``examples`` inputs in float64; both sides get the same.

    Raises:
        MissingFramework: Hypothesis is not installed.
        InvalidInput: there is nothing to vary.
    """
    try:
        import hypothesis
    except ImportError as error:
        raise MissingFramework("a search needs Hypothesis: pip install hypothesis") from error
    if not given:
        raise InvalidInput("a search needs inputs that it can vary")
    trial = _Trial(subjects, given, seed)
    settings = hypothesis.settings(
        max_examples=examples,
        deadline=None,
        database=None,
        suppress_health_check=list(hypothesis.HealthCheck),
        phases=[hypothesis.Phase.generate, hypothesis.Phase.shrink],
    )
    for scope in ("output/", ""):  # values first: a gradient differs for more and duller inputs
        trial.scope = scope
        progress.step(f"trying {examples} inputs: {'gradients too' if not scope else 'outputs'}")
        try:
            with warnings.catch_warnings(), progress.work(examples, "examples"):
                warnings.simplefilter("ignore")
                inputs = hypothesis.find(
                    strategy(given), trial.differs, settings=settings, random=random.Random(seed)
                )
        except hypothesis.errors.NoSuchExample:
            continue
        return Found(inputs, trial.count, trial.rich)
    return Found(None, trial.count)


class _Trial:
    """Runs both sides on other inputs and says whether they differ."""

    def __init__(
        self, subjects: Mapping[str, Subject], given: Mapping[str, np.ndarray], seed: int
    ) -> None:
        self.callers = {side: Caller(subjects[side], side, seed) for side in ("torch", "tf")}
        self.count = 0
        self.scope = ""
        self.rich: Arrays | None = None
        self.dtype = "float64"
        if self._outputs(dict(given)) is None:
            self.dtype = "float32"  # code that holds float32 refuses float64
            if self._outputs(dict(given)) is None:
                raise InvalidInput("the sides cannot be run again on inputs of their own")

    def _outputs(self, inputs: Arrays) -> Any:
        try:
            outcomes = {side: call(inputs, self.dtype) for side, call in self.callers.items()}
            return comparable(outcomes, inputs)
        except Exception:  # not a legal input, or not one for both
            return None

    def differs(self, inputs: Arrays) -> bool:
        self.count += 1
        progress.did("examples")
        traces = self._outputs(inputs)
        if traces is None:
            return False
        largest = max((float(np.abs(a).max()) for a in inputs.values() if a.size), default=1.0)
        names = [n for n in traces["torch"] if n in traces["tf"] and n.startswith(self.scope)]
        apart = any(self._apart(traces["torch"][n], traces["tf"][n], largest) for n in names)
        if apart and self.rich is None:
            self.rich = inputs
        return apart

    def _apart(self, a: np.ndarray, b: np.ndarray, largest: float) -> bool:
        if a.shape != b.shape:
            return True
        x, y = a.astype(np.float64), b.astype(np.float64)
        if (np.isnan(x) != np.isnan(y)).any() or (np.isinf(x) != np.isinf(y)).any():
            return True
        finite = np.isfinite(x)
        if not finite.any():
            return False
        scale = max(float(np.abs(x[finite]).max()), largest, 1.0)
        bound = SEARCH_BOUND * scale if self.dtype == "float64" else float32_rounding_bound(scale)
        return bool(np.abs(x[finite] - y[finite]).max() > bound)


def strategy(given: Mapping[str, np.ndarray]) -> Any:
    """A Hypothesis strategy of inputs like the given ones."""
    from hypothesis import strategies as st

    domains = {name: Domain.of(array) for name, array in given.items()}
    size = leading(domains)
    # the smallest first: that is where an example shrinks to
    sizes = st.sampled_from([*(n for n in (1, 2, 3) if n < size), size]) if size else st.just(0)

    @st.composite
    def inputs(draw: Callable[..., Any]) -> Arrays:
        chosen = draw(sizes)
        found = {}
        for name, domain in domains.items():
            shape = domain.shape
            if size and shape and shape[0] == size:
                shape = (chosen, *shape[1:])
            found[name] = draw(_array(domain, shape, np.asarray(given[name])))
        return found

    return inputs()


def leading(domains: Mapping[str, Domain]) -> int:
    """The size of the first axis (a batch, a time), where no other axis has it; 0 for none."""
    heads = [d.shape[0] for d in domains.values() if d.shape]
    inner = {n for d in domains.values() for n in d.shape[1:]}
    if not heads:
        return 0
    common = max(set(heads), key=heads.count)
    return common if common not in inner and heads.count(common) == len(heads) else 0


def _array(domain: Domain, shape: tuple[int, ...], given: np.ndarray) -> Any:
    from hypothesis import strategies as st
    from hypothesis.extra import numpy as hnp

    if domain.dtype.kind in "iub" or domain.binary:
        values = st.integers(int(domain.low), int(domain.high))
        drawn = hnp.arrays(np.int64, shape, elements=values)
        return drawn.map(lambda a: a.astype(domain.dtype))
    seen = [float(v) for v in given.reshape(-1)[:4]]
    special = [v for v in (*_SPECIAL, *seen) if domain.low <= v <= domain.high]
    floats = st.floats(
        float(np.float32(domain.low)), float(np.float32(domain.high)), width=32,
        allow_nan=False, allow_infinity=False, allow_subnormal=False,
    )  # fmt: skip
    elements = st.one_of(st.sampled_from(special or [domain.low]), floats)
    drawn = hnp.arrays(np.float32, shape, elements=elements, fill=st.nothing())
    if domain.simplex:
        drawn = drawn.map(_normalised)
    return drawn.map(lambda a: a.astype(domain.dtype))


def _normalised(array: np.ndarray) -> np.ndarray:
    total = array.sum(-1, keepdims=True)
    even = np.full_like(array, 1.0 / max(array.shape[-1], 1))
    with np.errstate(all="ignore"):
        return np.where(total > 0, array / total, even).astype(np.float32)


def as_test(labels: Mapping[str, str], inputs: Mapping[str, np.ndarray]) -> str:
    """The example as a pytest test."""
    lines = ["import numpy as np", "", "from parity.debug.check import check", "", "",
             "def test_sides_agree_on_the_example():"]  # fmt: skip
    lines.append("    inputs = {")
    for name, array in inputs.items():
        values = np.asarray(array).tolist()
        lines.append(f'        "{name}": np.array({values!r}, dtype="{np.asarray(array).dtype}"),')
    lines.append("    }")
    torch, tf = (repr(labels[side]) for side in ("torch", "tf"))
    lines.append(f"    report = check({torch}, {tf}, inputs)")
    lines.append("    assert report.passed, report")
    return "\n".join(lines) + "\n"
