"""An agent of any of the usual interfaces: how it is asked for an action, what is inside it."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from parity.backends import get_backend, to_numpy
from parity.debug.subjects import Subject, classify, describe
from parity.errors import InvalidInput
from parity.trace import flatten

if TYPE_CHECKING:
    from parity.recording.agents import RecordedAgent

METHODS = ("act", "select_action", "get_action", "choose_action", "predict")
#: Arguments that leave an agent's exploration out, under the names that agents use.
QUIET: Mapping[str, Any] = {
    "deterministic": True, "greedy": True, "evaluate": True, "eval_mode": True, "eval": True,
    "explore": False, "training": False, "train": False, "stochastic": False,
    "epsilon": 0.0, "eps": 0.0, "noise": None, "noise_scale": 0.0, "exploration_noise": 0.0,
}  # fmt: skip


@dataclass
class Agent:
    """One side's agent.

    Attributes:
        call: takes one observation, answers an action, or a tuple that begins with one.
        form: how it takes observations: ``array``, ``tensor`` or ``batch``; found at first use.
        recorded: what is known of it, where it was recorded elsewhere and cannot be asked.
    """

    label: str
    side: str
    value: Any
    call: Callable[..., Any]
    form: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    recorded: RecordedAgent | None = None

    def begin(self) -> None:
        """A new episode, for agents that have a state."""
        reset = getattr(self.value, "reset", None)
        if callable(reset):
            try:
                inspect.signature(reset).bind()
            except (TypeError, ValueError):
                return
            reset()

    def act(self, observation: Any) -> list[Any]:
        """The action, and what else the agent returns with it.

        Raises:
            InvalidInput: it takes the observation neither as an array nor as a tensor.
        """
        if self.form:
            return self._answer(self.form, observation)
        failed: Exception | None = None
        for form in ("array", "tensor", "batch"):
            if form == "array" and self.options.get("network"):
                continue
            try:
                answer = self._answer(form, observation)
            except Exception as error:
                failed = failed or error
                continue
            self.form = form
            return answer
        assert failed is not None
        shape = np.shape(observation)
        raise InvalidInput(
            f"{self.label}: acting on an observation of shape {shape} raised {describe(failed)}"
        ) from failed

    def _answer(self, form: str, observation: Any) -> list[Any]:
        given = observation
        if form != "array":
            array = np.asarray(observation)
            if array.dtype == np.float64:
                array = array.astype(np.float32)
            given = get_backend(self.side).tensor(array[None] if form == "batch" else array)
        keywords = {k: v for k, v in self.options.items() if k != "network"}
        made = self.call(given, **keywords)
        values = [to_numpy(leaf) for _, leaf in flatten(made)]
        if not values or any(v.dtype.kind not in "biuf" for v in values):
            raise InvalidInput(f"{self.label}: the action is a {type(made).__name__}")
        return [v[0] if form == "batch" and v.shape[:1] == (1,) else v for v in values]


def has_method(value: Any) -> bool:
    """Whether an object has one of the methods that agents have."""
    return not isinstance(value, type) and any(
        callable(getattr(value, name, None)) for name in METHODS
    )


def agent(subject: Subject, side: str) -> Agent:
    """The agent of a side; exploration is left out where its method has an argument for it."""
    from parity.recording.agents import RecordedAgent, refuse

    value, network = subject.value, False
    if isinstance(value, RecordedAgent):
        kept = {"network": True} if value.network else {}
        return Agent(subject.label, side, value, refuse, options=kept, recorded=value)
    method = next((getattr(value, n) for n in METHODS if callable(getattr(value, n, None))), None)
    known = classify(value)
    if (
        known is not None
        and known[1] == "module"
        and (method is None or method.__name__ == "predict")
    ):
        method, network = value, True
    if method is None:
        method = value
    options: dict[str, Any] = {}
    if not network:
        try:
            names = list(inspect.signature(method).parameters)[1:]
        except (TypeError, ValueError):
            names = []
        options = {name: QUIET[name] for name in names if name in QUIET}
    return Agent(subject.label, side, value, method, options={**options, **(
        {"network": True} if network else {})})  # fmt: skip


def plain(action: Any, environment: Any, index: int) -> np.ndarray:
    """An action as it is compared: whole numbers of discrete spaces as int64."""
    array = np.asarray(action)
    if index == 0:
        array = np.asarray(fitting(array, environment))
    if array.dtype.kind in "iu":
        return array.astype(np.int64)
    return array.astype(np.float32) if array.dtype == np.float64 else array


def fitting(action: Any, environment: Any) -> Any:
    """An action in the form that the environment's space takes.

    Scores of discrete actions become the best action.
    """
    array = np.asarray(action)
    space: Any = getattr(environment, "action_space", None)
    kind = type(space).__name__
    if kind == "Discrete":
        count = int(space.n)
        if array.dtype.kind == "f" and array.size == count and count > 1:
            return np.int64(array.reshape(-1).argmax())
        return np.int64(array.reshape(-1)[0]) if array.size == 1 else array
    if kind == "Box" and array.size == int(np.prod(space.shape)):
        return array.reshape(space.shape).astype(space.dtype)
    return array[()]


def side_of(value: Any) -> str | None:
    """Which framework the networks inside an agent are of; None if neither, or both."""
    found = {s for _, m in _held(value) if (s := (classify(m) or (None, ""))[0]) is not None}
    return found.pop() if len(found) == 1 else None


def _held(value: Any) -> list[tuple[str, Any]]:
    """Modules among an object's attributes, one level down through plain objects."""
    found: list[tuple[str, Any]] = []
    for name, item in list(getattr(value, "__dict__", {}).items()):
        known = classify(item)
        if known is not None and known[1] == "module":
            found.append((name, item))
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.nn.Module):
        found = list(value.named_children())
    if not found:
        for name, item in list(getattr(value, "__dict__", {}).items()):
            if hasattr(item, "__dict__") and type(item).__module__ == type(value).__module__:
                found += [(f"{name}.{inner}", m) for inner, m in _held(item)]
    return found


def networks_of(agent: Agent) -> dict[str, Any]:
    """The networks that an agent holds, by name; a whole network is one."""
    if agent.recorded is not None:
        return dict(agent.recorded.networks)
    if agent.options.get("network"):
        return {"network": agent.value}
    held = dict(_held(agent.value))
    known = classify(agent.value)
    if not held and known is not None and known[1] == "module":
        held["network"] = agent.value
    return held


def paired_networks(agents: Mapping[str, Agent]) -> dict[str, dict[str, Any]]:
    """Networks by name, or by order where no name is on both sides; a whole network is one."""
    if all(a.options.get("network") for a in agents.values()):
        return {"network": {side: networks_of(a)["network"] for side, a in agents.items()}}
    held = {side: networks_of(agent) for side, agent in agents.items()}
    both = [n for n in held["torch"] if n in held["tf"]]
    if both:
        return {n: {side: held[side][n] for side in held} for n in both}
    if len(held["torch"]) == len(held["tf"]):
        return {
            a: {"torch": left, "tf": right}
            for (a, left), right in zip(held["torch"].items(), held["tf"].values(), strict=True)
        }
    return {}
