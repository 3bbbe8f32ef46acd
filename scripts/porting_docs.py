"""Write docs/porting.md from the corpus.

    python scripts/porting_docs.py [--check]

``--check`` writes nothing and exits with 1 if the page is not what the corpus says.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from parity.diagnose.causes import CAUSES  # noqa: E402
from tests.corpus.loading import CASES, KINDS, Case, read_all  # noqa: E402

PAGE = ROOT / "docs" / "porting.md"
PACKAGED = ROOT / "parity" / "diagnose" / "porting.md"
"""The same page, installed with the package: ``parity explain`` shows parts of it."""
CLAIMS = ROOT / "tests" / "corpus" / "test_claims.py"

INTRODUCTION = """\
# Porting between PyTorch and TensorFlow
<!-- written by scripts/porting_docs.py from tests/corpus: change the cases, not this page -->

{faults} ways in which a port goes wrong, each with what one sees, why, and what to change. Every
one is a short file that runs: a torch side, a Keras side with the fault and one without.
`tests/corpus/test_cases.py` shows, without the harness, that the faulty side differs and that the
other agrees; `make corpus` shows what `parity check` says about them.

    parity check tests/corpus/cases/layer-config/layernorm_epsilon.py:torch_side \\
                 tests/corpus/cases/layer-config/layernorm_epsilon.py:tf_buggy \\
                 --inputs tests/corpus/cases/layer-config/layernorm_epsilon.py:inputs
    pytest tests/corpus -k layernorm_epsilon

The order to look in, when nothing is known yet: the environment's state after equal seeds and
actions; a network's output for one state; the loss of one batch; its gradients; the parameters
after one update; the target networks.
"""

#: What one sees while training -> why -> what to change -> the cases that show it.
TRAINING = (
    (
        "The reward jumps, the loss oscillates",
        "learning rate too high; returns not normalised, or those of the whole trajectory",
        "lower the rate, normalise, use the reward-to-go",
        ("whole_return_for_reward_to_go", "normalised_with_population_std", "learning_rate_frozen"),
    ),
    (
        "An actor-critic makes no progress",
        "the advantage is not detached; the shared body is pulled both ways",
        "stop the gradient, or give each head its own body",
        ("advantage_not_detached", "shared_head_detached", "actor_loss_detached"),
    ),
    (
        "Targets of different environments are mixed up",
        "a mask is missing in the recursion, or it runs over a flattened batch",
        "mask every step and keep [T, B]",
        ("gae_not_cut", "n_step_past_the_end", "recursion_over_flat_batch"),
    ),
    (
        "Value estimates are too high",
        "the value behind the end of an episode is used",
        "zero the bootstrap at termination, and only there",
        ("terminal_state_bootstrapped", "truncation_taken_for_end", "n_step_gamma_power"),
    ),
    (
        "Warnings about dtypes, wrong values",
        "Python floats, float64 and integers are mixed",
        "one dtype, from collection on",
        ("reward_truncated", "counter_in_float32", "frames_wrap_around"),
    ),
    (
        "A new learning rate has no effect",
        "a Python number was frozen while tracing",
        "a tf.Variable, or the optimizer's own learning_rate",
        ("learning_rate_frozen", "coefficient_frozen"),
    ),
    (
        "The target network does not move",
        "the update ran over an unbuilt or another list of variables",
        "make both equal after building, and check that the target moved",
        ("target_not_built", "statistics_left_behind", "tau_argument_ignored"),
    ),
    (
        "Every batch is the same",
        "NumPy's numbers or a Python size were frozen while tracing",
        "sample with operations of the graph, keep the size in a variable",
        ("buffer_size_frozen", "noise_frozen"),
    ),
    (
        "Slow convergence and no error",
        "all environments share one seed",
        "a seed for each environment",
        ("environments_share_a_seed", "seed_at_every_reset"),
    ),
)


def page() -> str:
    """The whole page."""
    cases = read_all()
    by_id = {case.id: case for case in cases}
    faults = sum(len(case.causes) > 0 for case in cases)
    parts = [INTRODUCTION.format(faults=faults), "\n".join(_training(by_id))]
    seen: set[str] = set()
    headings = {_main(cause) for case in cases for cause in case.causes}
    for kind, title in KINDS.items():
        mine = [case for case in cases if case.kind == kind]
        parts.append("\n".join(_kind(kind, title, mine, cases, seen, headings)))
    parts.append("\n".join(_others(seen)))
    parts.append("\n".join(_claims()))
    return "\n".join(parts)


def _training(by_id: dict[str, Case]) -> Iterator[str]:
    yield "## While training"
    yield "| one sees | because | change | shown by |"
    yield "|---|---|---|---|"
    for symptom, cause, fix, ids in TRAINING:
        links = ", ".join(_link(by_id[i]) for i in ids)
        yield f"| {symptom} | {cause} | {fix} | {links} |"
    yield ""


def _kind(
    kind: str, title: str, mine: list[Case], cases: list[Case], seen: set[str], headings: set[str]
) -> Iterator[str]:
    """A kind of fault: a heading for each cause that comes up here first, with all its cases."""
    yield f"## {title}"
    if kind in ("stacked", "control"):
        for case in mine:
            yield from _entry(case)
        return
    for cause in dict.fromkeys(_main(case.causes[0]) for case in mine):
        if cause in seen:
            continue
        seen.add(cause)
        same = [c for c in cases if len(c.causes) == 1 and _main(c.causes[0]) == cause]
        aliases = {name for c in same for name in c.causes[0].split("|")[1:]}
        yield f"### {cause}"
        for name in sorted(aliases - headings - seen - set(CAUSES)):
            yield f'<a id="{name}"></a>'
            seen.add(name)
        for case in same:
            yield from _entry(case)


def _others(seen: set[str]) -> Iterator[str]:
    """Causes that `parity check` can name and that no case is filed under."""
    yield "## Other causes that a report may name"
    for cause in CAUSES.values():
        if cause.id not in seen:
            yield f"### {cause.id}"
            yield f"**{_text(cause.title)}**"
            yield f"- Symptom: {_text(cause.symptom)}"
            yield f"- Fix: {_code(cause.fix)}"
            yield ""


def _entry(case: Case) -> Iterator[str]:
    yield f"**{_text(case.title)}** ({_link(case)})"
    if case.control:
        yield f"- {_text(case.why)}"
    else:
        yield f"- Symptom: {_text(case.symptom)}"
        yield f"- Cause: {_text(case.why)}"
        yield f"- Fix: {_code(case.fix)}"
    if len(case.causes) > 1:
        names = [_main(cause) for cause in case.causes]
        yield "- Faults: " + ", ".join(f"[{name}](#{name})" for name in names)
    yield ""


def _claims() -> Iterator[str]:
    yield "## Claims that were tried"
    yield "What is said about the two frameworks, and what came of it. Each row names its test in"
    yield "[test_claims.py](../tests/corpus/test_claims.py); what depends on the machine was"
    yield "measured once."
    yield ""
    yield "| claim | verdict | test |"
    yield "|---|---|---|"
    measured: list[tuple[str, str]] = []
    for node in ast.parse(CLAIMS.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            said = " ".join((ast.get_docstring(node) or "").split())
            claim, _, verdict = said.partition(": ")
            yield f"| {_text(claim)} | {_text(verdict)} | `{node.name}` |"
        elif isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "MEASURED":
            measured = ast.literal_eval(node.value)
    for claim, verdict in measured:
        yield f"| {_text(claim)} | {_text(verdict)} | measured |"
    yield ""


def _link(case: Case) -> str:
    return f"[{case.id}](../tests/corpus/cases/{case.path.relative_to(CASES).as_posix()})"


def _main(cause: str) -> str:
    return cause.split("|")[0]


def _code(fix: str) -> str:
    """In code font where it is code and nothing else."""
    try:
        ast.parse(fix)
    except SyntaxError:
        return _text(fix)
    return f"`{fix}`" if re.search(r"[(=*/]", fix) else _text(fix)


def _text(text: str) -> str:
    return re.sub(r"([*|<])", r"\\\1", text)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; 1 if out of date")
    options = parser.parse_args()
    text, old = page(), 0
    for path in (PAGE, PACKAGED):
        if options.check:
            if not path.exists() or path.read_text(encoding="utf-8") != text:
                print(f"{path.relative_to(ROOT)} is out of date: run scripts/porting_docs.py")
                old = 1
        else:
            path.write_text(text, encoding="utf-8")
    return old


if __name__ == "__main__":
    sys.exit(main())
