"""Two optimizers over k steps on the same parameters and the same gradients."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from typing import Any

import numpy as np

from parity import progress
from parity.checks import seeded
from parity.debug.precision import float64_policy
from parity.debug.subjects import Subject, describe
from parity.errors import InvalidInput
from parity.report import Report, build_report, judge
from parity.trace import Trace
from parity.verdict import Verdict

STEPS = 5
#: torch slot -> Keras slot names that hold the same quantity. Momentum is not among them: Keras
#: keeps -learning_rate * velocity, torch the velocity, and the parameters show any difference.
SLOTS = {
    "exp_avg": ("momentum", "m"),
    "exp_avg_sq": ("velocity", "v"),
    "square_avg": ("velocity",),
    "sum": ("accumulator",),
}


def check_optimizers(
    subjects: Mapping[str, Subject],
    parameters: Mapping[str, np.ndarray] | None = None,
    *,
    steps: int = STEPS,
    seed: int = 0,
) -> Report:
    """Step both optimizers with the same gradients and compare the parameters after every step.

    The torch side is an optimizer, or a function of a list of parameters that makes one (or one
    with its learning-rate scheduler); the tf side is a Keras optimizer or a factory of one. The
    gradients range over sizes 1 to 1e-8, since an epsilon shows only where a gradient is small.

    Raises:
        InvalidInput: a side cannot be made or refuses to step.
    """
    start = dict(parameters or default_parameters(seed))
    gradients = [default_gradients(start, step, seed) for step in range(steps)]
    run32, _ = _run(subjects, start, gradients, "float32")
    run64, steps_taken = _run(subjects, start, gradients, "float64")
    subject = {
        "check": "optimizer",
        "torch": subjects["torch"].label,
        "tf": subjects["tf"].label,
        "dtype": "float32",
        "steps": steps,
    }
    report = judge(run32.with_(subject=subject), run64)
    if report.verdict in (Verdict.DIVERGE, Verdict.LATENT):
        report = report.with_(causes=tuple(_causes(steps_taken)))
    names = {str(cause["cause"]) for cause in report.causes}
    if report.verdict is Verdict.LATENT and names == {"float32-inside"}:
        inside = [{"place": "the learning rate", "error": report.causes[0]["before"]}]
        report = report.with_(subject={**report.subject, "float32_inside": inside})
    return report


def _causes(steps_taken: Mapping[str, list[Any]]) -> Iterator[dict[str, Any]]:
    """The settings that make the difference: both are simulated, and switched one by one."""
    from parity.diagnose.causes import CAUSES
    from parity.diagnose.optimizers import explanations, facts_of
    from parity.diagnose.wording import fix_of, text_of

    known = list(explanations(steps_taken["torch"], steps_taken["tf"], "float64"))
    if not known:
        yield from _handwritten(steps_taken)
    for torch, tf, found in known:
        for part in found.parts:
            facts = facts_of(part, torch, tf)
            yield {
                "cause": part.cause,
                "text": text_of(part.cause, facts),
                "before": part.before,
                "after": part.after,
                "fix": fix_of(part.cause, facts),
                "docs": CAUSES[part.cause].link,
                "alternatives": [],
            }


def _handwritten(steps_taken: Mapping[str, list[Any]]) -> Iterator[dict[str, Any]]:
    """An optimizer of the user's own class: which change to torch's would do what it does."""
    from parity.diagnose.causes import CAUSES
    from parity.diagnose.optimizers import CAUSES as NAMES
    from parity.diagnose.optimizers import trainings
    from parity.diagnose.ordering import variant
    from parity.diagnose.wording import fix_of, text_of

    for training in trainings(steps_taken["torch"], "torch")[:1]:
        steps = steps_taken["tf"]
        wanted = {(k, i): a for k, step in enumerate(steps) for i, a in enumerate(step.after)}
        numbers = [
            float(v) for step in steps[:1] for v in {**step.settings[0], **_own(step)}.values()
            if isinstance(v, (int, float)) and not isinstance(v, bool)
        ]  # fmt: skip
        found = variant(training, wanted, numbers, "float64") if wanted else None
        for name, (old, new) in (found[0] if found is not None else {}).items():
            kind = type(steps[0].optimizer).__name__
            facts = {"setting": name, "torch": old, "tf": new, "torch_kind": training.kind,
                     "tf_kind": f"the class {kind}"}  # fmt: skip
            yield {
                "cause": NAMES[name],
                "text": text_of(NAMES[name], facts),
                "before": max(float(np.max(np.abs(a - training.after[k][i])))
                              for (k, i), a in wanted.items()),
                "after": found[1] if found is not None else 0.0,
                "fix": fix_of(NAMES[name], facts),
                "docs": CAUSES[NAMES[name]].link,
                "alternatives": [],
            }  # fmt: skip


def _own(step: Any) -> dict[str, Any]:
    """Numbers that the user's class keeps."""
    return {k: v for k, v in vars(step.optimizer).items() if not k.startswith("_")}


def default_parameters(seed: int) -> dict[str, np.ndarray]:
    """A kernel and a bias of pairwise distinct sizes."""
    rng = seeded("parameters", str(seed))
    return {"kernel": rng.normal(size=(5, 3)), "bias": rng.normal(size=3)}


def default_gradients(
    parameters: Mapping[str, np.ndarray], step: int, seed: int
) -> dict[str, np.ndarray]:
    """Gradients whose elements are of sizes 1 down to 1e-8, of either sign."""
    found = {}
    for name, value in parameters.items():
        rng = seeded("gradients", str(seed), name)  # one scale per element, all steps long
        scale = 10.0 ** rng.choice([0, -1, -2, -4, -6, -7, -8], np.shape(value))
        noise = seeded("gradients", str(seed), name, str(step))
        found[name] = scale * noise.uniform(0.5, 1.5, np.shape(value)) * noise.choice([-1.0, 1.0])
    return found


def _run(
    subjects: Mapping[str, Subject],
    start: Mapping[str, np.ndarray],
    gradients: list[dict[str, np.ndarray]],
    dtype: str,
) -> tuple[Report, dict[str, list[Any]]]:
    traces, steps_taken = {}, {}
    for side in ("torch", "tf"):
        traces[side], steps_taken[side] = run_side(subjects[side], start, gradients, dtype)
    common = [n for n in traces["torch"] if n in traces["tf"]]
    shared = {s: Trace({n: t[n] for n in common}, side=s) for s, t in traces.items()}
    report = build_report(shared, expect_zero=("*/slot/*",), dtype=dtype, subject={"dtype": dtype})
    return report, steps_taken


def run_side(
    subject: Subject,
    start: Mapping[str, np.ndarray],
    gradients: list[dict[str, np.ndarray]],
    dtype: str,
) -> tuple[Trace, list[Any]]:
    """Step one side's optimizer; what it made, and the steps as they were taken.

    A recorded one answers with its recording.
    """
    from parity.recording.optimizers import RecordedOptimizer

    if isinstance(subject.value, RecordedOptimizer):
        trace, recorded = subject.value.run(dtype)
        return trace, list(recorded)
    progress.step(f"{subject.side} optimizer, {len(gradients)} steps in {dtype}")
    cast = [{n: _typed(g, dtype) for n, g in step.items()} for step in gradients]
    first = {n: _typed(v, dtype) for n, v in start.items()}
    if subject.side == "torch":
        from parity.backends import torch_intercept

        with torch_intercept.intercept() as seen:
            return _guarded(_torch, subject, first, cast), seen.steps
    from parity.backends import keras_steps

    # Keras takes Python numbers through float32, which a float64 run must not
    exact = float64_policy(subject.value) if dtype == "float64" else nullcontext()
    with keras_steps.steps() as taken, exact:
        return _guarded(_tf, subject, first, cast), taken


def _guarded(
    run: Callable[..., Trace],
    subject: Subject,
    start: Mapping[str, np.ndarray],
    gradients: list[dict[str, np.ndarray]],
) -> Trace:
    try:
        return run(subject, start, gradients)
    except InvalidInput:
        raise
    except Exception as error:
        raise InvalidInput(f"{subject.label}: stepping it raised {describe(error)}") from error


def _torch(
    subject: Subject, start: Mapping[str, np.ndarray], gradients: list[dict[str, np.ndarray]]
) -> Trace:
    import torch

    parameters = [torch.nn.Parameter(torch.from_numpy(v.copy())) for v in start.values()]
    optimizer, scheduler = torch_optimizer(subject, parameters)
    trace = Trace(side="torch")
    for number, step in enumerate(gradients, 1):
        for parameter, gradient in zip(parameters, step.values(), strict=True):
            parameter.grad = torch.from_numpy(gradient.copy())
        optimizer.step()
        if scheduler is not None:
            scheduler.step()
        for name, parameter in zip(start, parameters, strict=True):
            state = optimizer.state.get(parameter, {})
            for slot in SLOTS:
                if slot in state and state[slot] is not None:
                    trace.add(f"step/{number}/slot/{slot}/{name}", state[slot])
            trace.add(f"step/{number}/param/{name}", parameter)
    return trace


def makes_optimizer(function: Callable[..., Any]) -> bool:
    """Whether a function of one argument, given a list of parameters, returns an optimizer."""
    import torch

    try:
        inspect.signature(function).bind(None)
        made = function([torch.nn.Parameter(torch.zeros(2))])
    except Exception:  # a function of something else
        return False
    return isinstance(made[0] if isinstance(made, tuple) and made else made, torch.optim.Optimizer)


def torch_optimizer(subject: Subject, parameters: list[Any]) -> tuple[Any, Any]:
    """The subject's optimizer over these parameters, and its scheduler if it makes one."""
    import torch

    value = subject.value
    if isinstance(value, torch.optim.Optimizer):
        wanted = inspect.signature(type(value).__init__).parameters
        group = {k: v for k, v in value.param_groups[0].items() if k in wanted and k != "params"}
        return type(value)(parameters, **group), None
    made = value(parameters)
    optimizer, scheduler = made if isinstance(made, tuple) else (made, None)
    if not isinstance(optimizer, torch.optim.Optimizer):
        raise InvalidInput(
            f"{subject.label}: called with a list of parameters it returned a "
            f"{type(optimizer).__name__}, not a torch.optim.Optimizer"
        )
    return optimizer, scheduler


def _tf(
    subject: Subject, start: Mapping[str, np.ndarray], gradients: list[dict[str, np.ndarray]]
) -> Trace:
    import tensorflow as tf

    wide = next(iter(start.values())).dtype == np.float64
    optimizer = keras_optimizer(subject, wide)
    variables = [tf.Variable(value, name=name) for name, value in start.items()]
    if type(optimizer).__module__.startswith("keras."):
        import keras

        variables = [keras.Variable(v, dtype=v.dtype, name=n) for n, v in start.items()]
    trace = Trace(side="tf")
    for number, step in enumerate(gradients, 1):
        tensors = [tf.constant(gradient) for gradient in step.values()]
        optimizer.apply_gradients(list(zip(tensors, variables, strict=True)))
        slots = _keras_slots(optimizer)
        for name, variable in zip(start, variables, strict=True):
            for slot, aliases in SLOTS.items():
                held = next((slots[f"{name}_{a}"] for a in aliases if f"{name}_{a}" in slots), None)
                if held is not None:
                    trace.add(f"step/{number}/slot/{slot}/{name}", held)
            trace.add(f"step/{number}/param/{name}", variable)
    return trace


def keras_optimizer(subject: Subject, wide: bool) -> Any:
    """A fresh optimizer; in float64 its learning rate is float64 as well, not a rounded one."""
    like = subject.value
    if not wide:
        return subject.factory() if subject.factory else type(like).from_config(like.get_config())
    with float64_policy(like):
        return subject.factory() if subject.factory else type(like).from_config(like.get_config())


def _keras_slots(optimizer: Any) -> dict[str, Any]:
    found = {}
    for variable in optimizer.variables if not callable(optimizer.variables) else []:
        found[str(getattr(variable, "path", variable.name)).rpartition("/")[2]] = variable
    return found


def _typed(array: np.ndarray, dtype: str) -> np.ndarray:
    return np.asarray(array).astype(np.float32).astype(dtype)
