"""``parity.check``: find out what two sides are, run them in both precisions, and judge.

The float32 run is what the user sees; the float64 run of the same objects, with the same weights
and inputs, tells whether a difference is rounding, and shows differences that the data hides.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import numpy as np

from parity import progress, tried
from parity.debug.inputs import as_arrays
from parity.debug.subjects import Subject, load, resolve, takes_nothing
from parity.errors import InvalidInput
from parity.report import Report
from parity.verdict import Verdict

SIDES = ("torch", "tf")
WEIGHTS = ("copy", "keep")
OPTIMIZER_STEPS = 5


def check(
    torch: Any,
    tf: Any,
    inputs: Any = None,
    *,
    training: bool = False,
    steps: int | None = None,
    transfer: str = "copy",
    names: Mapping[str, str] | None = None,
    seed: int = 0,
    search: int = 0,
    environment: Any = None,
) -> Report:
    """Compare a PyTorch side and a TensorFlow side, layer by layer, in float32 and float64.

    Args:
        torch, tf: modules, callables, optimizers, environments, agents, zero-argument factories
            of these, or strings such as ``"file.py:name"``. Their order does not matter where the
            objects tell which is which. A side may be the path of a recording (``parity.record``):
            then its inputs, mode and seed are used, and only the other side runs.
        inputs: an array, a sequence or a mapping of arrays, in torch's order of axes; or
            ``{"torch": ..., "tf": ...}`` where the two sides take different ones.
        training: run in training mode (statistics of the batch, dropout).
        steps: how many steps two optimizers take (5 where None), their ``inputs``, if any, being
            the parameters; or two environments (None: enough to reach the time limit), their
            ``inputs``, if any, being the actions.
        transfer: ``copy`` gives the tf side torch's weights; ``keep`` compares the sides with the
            weights that they have.
        names: torch layer -> tf layer, for layers that cannot be paired without doubt.
        search: where the sides agree on the inputs, try so many others of their kind (zeros, ties,
            bounds, extreme scales, sizes); what is found is shrunk and reported in their place.
        environment: where the sides are agents: an environment, a factory of one, a name such as
            ``"file.py:make"``, or an id of gymnasium such as ``"CartPole-v1"``.

    Returns:
        The report; ``report.subject`` holds the pairing and the layers at fault.

    Raises:
        InvalidInput: a side cannot be loaded, is of no known kind, or refuses the inputs.
        AlignmentError, TransferError: layers or weights cannot be paired without guessing.
    """
    if transfer not in WEIGHTS:
        raise InvalidInput(f"transfer={transfer!r}: choose {' or '.join(WEIGHTS)}")
    options: dict[str, Any] = {
        "training": training,
        "steps": steps,
        "transfer": transfer,
        "names": names,
        "seed": seed,
    }
    with tried.collecting() as found:
        report = _check(torch, tf, inputs, search, environment, options)
    rows = tried.rows(found, report.causes) if not report.passed else []
    return report.with_(subject={**report.subject, "tried": rows}) if rows else report


def _check(
    torch: Any, tf: Any, inputs: Any, search: int, environment: Any, options: dict[str, Any]
) -> Report:
    progress.step("loading both sides")
    recordings, pair = _sides(torch, tf, options["seed"])
    if environment is not None or "agent" in {s.kind for s in pair.values()}:
        chosen = {name: options[name] for name in ("steps", "transfer", "seed")}
        if recordings:
            from parity.recording.agents import agreed_agents

            environment = agreed_agents(recordings, environment, chosen)
        return _agents(pair, environment, **chosen)
    arrays = None if inputs is None else _inputs(inputs)
    if recordings:
        from parity.recording.reading import agreed

        if search:
            raise InvalidInput("a search runs both sides on other inputs; one is a recording here")
        arrays = agreed(recordings, arrays, options)
    report = _checked(pair, arrays, **options)
    if search and arrays is not None and pair["torch"].kind != "optimizer":
        report = _searched(report, pair, arrays, search, options)
    return report


def _agents(pair: Mapping[str, Subject], environment: Any, **options: Any) -> Report:
    if environment is None:
        labels = " and ".join(subject.label for subject in pair.values())
        raise InvalidInput(
            f"{labels}: agents need an environment to act in: --env CartPole-v1, or "
            "--env file.py:make_env (environment= in Python)"
        )
    wrong = [s for s in pair.values() if s.kind not in ("agent", "module", "function")]
    if wrong:
        raise InvalidInput(f"{wrong[0].label} is a {wrong[0].kind}, not an agent")
    from parity.debug.agents import check_agents

    return check_agents(pair, environment, **options)


def _searched(
    report: Report,
    pair: Mapping[str, Subject],
    arrays: Mapping[str, Mapping[str, np.ndarray]],
    examples: int,
    options: Mapping[str, Any],
) -> Report:
    """The report on inputs that a search found, where the given ones show no difference."""
    from parity.debug.search import as_test, search

    if report.verdict not in (Verdict.AGREE, Verdict.ROUNDING, Verdict.LATENT):
        return report
    if arrays["torch"] is not arrays["tf"]:
        raise InvalidInput("a search needs inputs that both sides share")
    found = search(pair, arrays["torch"], examples, seed=options["seed"])
    facts: dict[str, Any] = {"search": {"tried": found.tried, "found": found.inputs is not None}}
    if found.inputs is not None:
        report = _checked(pair, dict.fromkeys(SIDES, found.inputs), **options)
        if found.rich is not None:
            richer = _checked(pair, dict.fromkeys(SIDES, found.rich), **options)
            report = report.with_(causes=richer.causes or report.causes)
        labels = {side: subject.label for side, subject in pair.items()}
        facts["example"] = as_test(labels, found.inputs)
    return report.with_(subject={**report.subject, **facts})


def _checked(
    pair: Mapping[str, Subject],
    arrays: Mapping[str, Mapping[str, np.ndarray]] | None,
    *,
    training: bool,
    steps: int | None,
    transfer: str,
    names: Mapping[str, str] | None,
    seed: int,
) -> Report:
    if all(subject.kind == "module" for subject in pair.values()) and arrays is not None:
        if not arrays["torch"]:
            raise InvalidInput("no inputs; a check on nothing proves nothing")
        for name, array in (*arrays["torch"].items(), *arrays["tf"].items()):
            if not array.size:
                raise InvalidInput(
                    f"input {name!r} is empty, its shape is {array.shape}; an empty batch agrees "
                    "with anything: give it at least one row"
                )
        from parity.debug.module_check import check_modules

        return check_modules(
            pair, arrays, training=training, transfer=transfer, names=names, seed=seed
        )
    if pair["torch"].kind == "environment":
        from parity.debug.environments import check_environments

        given = None if arrays is None else arrays["torch"]
        return check_environments(pair, given, steps=steps, seed=seed)
    if pair["torch"].kind == "optimizer":
        from parity.debug.optimizers import check_optimizers

        steps = OPTIMIZER_STEPS if steps is None else steps

        given = None if arrays is None else arrays["torch"]
        return check_optimizers(pair, given, steps=steps, seed=seed)
    if arrays is None:
        if not all(takes_nothing(subject.value) for subject in pair.values()):
            raise InvalidInput(
                "a check of modules or functions needs inputs, e.g. "
                '--input "state=float32[13,3]" or --inputs port.py:batch'
            )
        arrays = _inputs([])
    from parity.debug.functions import check_functions

    try:
        return check_functions(pair, arrays, seed=seed)
    except InvalidInput as error:
        hint = _factory_hint(pair)
        raise InvalidInput(f"{error}{hint}") from error


def _factory_hint(pair: Mapping[str, Subject]) -> str:
    """Beside a module, a function that fails may be a factory that takes arguments."""
    import inspect

    if {subject.kind for subject in pair.values()} != {"module", "function"}:
        return ""
    maker = next(subject for subject in pair.values() if subject.kind == "function")
    try:
        needed = [
            p.name
            for p in inspect.signature(maker.value).parameters.values()
            if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        ]
    except (TypeError, ValueError):
        return ""
    name = maker.label.rpartition(":")[2]
    return (
        f"\nIf {name} makes a model, name a function without arguments: "
        f"make = lambda: {name}({', '.join(f'{n}=...' for n in needed)})"
    )


def sides(first: Any, second: Any, seed: int = 0) -> dict[str, Subject]:
    """Both subjects, told apart by what they are; torch's package is imported before TensorFlow."""
    return _sides(first, second, seed)[1]


def _sides(first: Any, second: Any, seed: int) -> tuple[dict[str, Any], dict[str, Subject]]:
    """The recordings among them by side, and both subjects."""
    recordings = _recordings(first, second)
    if "torch" not in recordings and find_spec("torch") is not None:
        import torch  # noqa: F401
    subjects = []
    for given, label in ((first, "torch"), (second, "tf")):
        stored = next((r for r in recordings.values() if r.label == str(given)), None)
        if stored is not None:
            subjects.append(stored.subject)
        elif isinstance(given, str):
            subjects.append(resolve(load(given), given, seed))
        else:
            subjects.append(resolve(given, label, seed))
    return recordings, _told_apart(subjects)


def _recordings(first: Any, second: Any) -> dict[str, Any]:
    """The sides that are files, by side.

    Raises:
        InvalidInput: both are of one framework, or a file is none of ours.
    """
    from parity.recording.reading import is_recording, read_recording

    found: dict[str, Any] = {}
    for given in (first, second):
        if not is_recording(given):
            continue
        recording = read_recording(given)
        side = str(recording.subject.side)
        if side in found:
            raise InvalidInput(
                f"{found[side].label} and {recording.label} are both {side}: "
                "a check needs one side of each framework"
            )
        found[side] = recording
    return found


def _told_apart(subjects: list[Subject]) -> dict[str, Subject]:
    from parity.debug.modules import is_recorded

    found = [s.side for s in subjects]
    if found[0] is not None and found[0] == found[1]:
        raise InvalidInput(
            f"{subjects[0].label} and {subjects[1].label} are both {found[0]}: "
            "a check needs one side of each framework"
        )
    if found[0] == "tf" or found[1] == "torch":
        subjects.reverse()
    if {s.kind for s in subjects} == {"function", "optimizer"}:
        # params -> optimizer is a function until it meets an optimizer
        _refuse_recorded_function(subjects)
        subjects = [replace(s, kind="optimizer") for s in subjects]
    for one, other in (subjects, subjects[::-1]):
        if other.kind == "function" and is_recorded(one.value):
            raise InvalidInput(
                f"{one.label} was recorded as a module and {other.label} is a function: record "
                "it again with --as-function (as_function= in Python)"
            )
    kinds_ = {s.kind for s in subjects}
    if len(kinds_) > 1 and not kinds_ <= {"module", "function", "agent"}:
        kinds = [f"{s.label} is a {s.kind}" for s in subjects]
        raise InvalidInput(f"{' and '.join(kinds)}: give two of the same kind")
    return dict(zip(SIDES, subjects, strict=True))


def _refuse_recorded_function(subjects: list[Subject]) -> None:
    from parity.recording.functions import RecordedFunction

    if any(isinstance(s.value, RecordedFunction) for s in subjects):
        kinds = [f"{s.label} is a {s.kind}" for s in subjects]
        raise InvalidInput(f"{' and '.join(kinds)}: give two of the same kind")


def as_optimizer(subject: Subject) -> Subject:
    """A function of a list of parameters that makes an optimizer is one, seen alone too."""
    if subject.kind != "function" or subject.side != "torch" or find_spec("torch") is None:
        return subject
    from parity.debug.optimizers import makes_optimizer

    return replace(subject, kind="optimizer") if makes_optimizer(subject.value) else subject


def _inputs(inputs: Any) -> dict[str, dict[str, np.ndarray]]:
    if isinstance(inputs, Mapping) and set(inputs) == set(SIDES):
        return {side: as_arrays(inputs[side], f"inputs of {side}") for side in SIDES}
    arrays = as_arrays(inputs)
    return dict.fromkeys(SIDES, arrays)
