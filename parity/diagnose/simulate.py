"""Optimizers in NumPy, with every convention in which torch and Keras part as a setting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Arrays = list[np.ndarray]


@dataclass(frozen=True)
class Rule:
    """How one parameter is updated in one step.

    Attributes:
        kind: ``sgd``, ``adam``, ``rmsprop``, ``adagrad``, ``adamax``, ``adadelta``, ``nadam``.
        epsilon_form: ``corrected`` (torch: sqrt(v_hat) + eps), ``raw`` (Keras' Adam:
            sqrt(v) + eps, the correction folded into the step), ``inside`` (sqrt(v + eps)),
            ``outside`` (sqrt(v) + eps).
        momentum_form: ``fresh`` (torch: the rate multiplies the buffer) or ``stored`` (Keras: the
            rate goes into the buffer).
        decay_form: ``coupled`` (added to the gradient) or ``decoupled`` (shrinks the parameter).
        start: initial value of the squared-gradient average or sum.
        clip: of gradients, ``("norm" | "global" | "value", bound)``.
    """

    kind: str
    learning_rate: float
    epsilon: float = 0.0
    epsilon_form: str = "outside"
    beta1: float = 0.9
    beta2: float = 0.999
    bias_correction: bool = True
    amsgrad: bool = False
    momentum: float = 0.0
    momentum_form: str = "fresh"
    dampening: float = 0.0
    nesterov: bool = False
    rho: float = 0.99
    centered: bool = False
    weight_decay: float = 0.0
    decay_form: str = "coupled"
    start: float = 0.0
    rate_decay: float = 0.0
    clip: tuple[str, float] | None = None
    maximize: bool = False
    momentum_decay: float = 1.0


@dataclass
class State:
    step: int = 0
    slots: dict[str, np.ndarray] = field(default_factory=dict)


def simulate(
    rules: Sequence[Sequence[Rule]], start: Arrays, gradients: Sequence[Sequence[np.ndarray | None]]
) -> list[Arrays]:
    """Parameters after every step, from given gradients.

    Args:
        rules: for each step, one rule for each parameter.
        start: the parameters before the first step.
        gradients: for each step, one gradient for each parameter.
    """
    parameters = [np.array(p, dtype=np.float64) for p in start]
    states = [State() for _ in parameters]
    found = []
    for step_rules, step_gradients in zip(rules, gradients, strict=True):
        clipped = clip(step_rules, step_gradients)
        for i, (rule, gradient) in enumerate(zip(step_rules, clipped, strict=True)):
            if gradient is not None:
                parameters[i] = update(rule, parameters[i], gradient, states[i])
        found.append([p.copy() for p in parameters])
    return found


def clip(rules: Sequence[Rule], gradients: Sequence[np.ndarray | None]) -> list[np.ndarray | None]:
    """Gradients as each rule clips them: by value, by their own norm or by that of all."""
    plain = [None if g is None else np.asarray(g, dtype=np.float64) for g in gradients]
    norms = [0.0 if g is None else float(np.sqrt(np.sum(g * g))) for g in plain]
    whole = float(np.sqrt(np.sum(np.square(norms))))
    found: list[np.ndarray | None] = []
    for rule, gradient, norm in zip(rules, plain, norms, strict=True):
        if gradient is None or rule.clip is None:
            found.append(gradient)
        elif rule.clip[0] == "value":
            found.append(np.clip(gradient, -rule.clip[1], rule.clip[1]))
        else:
            size = norm if rule.clip[0] == "norm" else whole
            found.append(gradient * (rule.clip[1] / max(size, rule.clip[1])))
    return found


def update(rule: Rule, p: np.ndarray, g: np.ndarray, state: State) -> np.ndarray:
    """One parameter after one step."""
    state.step += 1
    if rule.maximize:
        g = -g
    if rule.weight_decay:
        if rule.decay_form == "coupled":
            g = g + rule.weight_decay * p
        else:
            p = p * (1.0 - rule.learning_rate * rule.weight_decay)
    make = {
        "sgd": _sgd,
        "adam": _adam,
        "rmsprop": _rmsprop,
        "adagrad": _adagrad,
        "adamax": _adamax,
        "adadelta": _adadelta,
        "nadam": _nadam,
    }[rule.kind]  # fmt: skip
    return make(rule, p, g, state)


def _slot(state: State, name: str, like: np.ndarray, value: float = 0.0) -> np.ndarray:
    if name not in state.slots:
        state.slots[name] = np.full(like.shape, value, dtype=np.float64)
    return state.slots[name]


def _sgd(rule: Rule, p: np.ndarray, g: np.ndarray, state: State) -> np.ndarray:
    if not rule.momentum:
        return np.asarray(p - rule.learning_rate * g)
    first = "momentum" not in state.slots
    buffer = _slot(state, "momentum", g)
    if rule.momentum_form == "stored":
        buffer = (
            rule.momentum * buffer - rule.learning_rate * (1 - rule.dampening * (not first)) * g
        )
        state.slots["momentum"] = buffer
        if rule.nesterov:
            return np.asarray(p + rule.momentum * buffer - rule.learning_rate * g)
        return np.asarray(p + buffer)
    buffer = g.copy() if first else rule.momentum * buffer + (1 - rule.dampening) * g
    state.slots["momentum"] = buffer
    return np.asarray(
        p - rule.learning_rate * (g + rule.momentum * buffer if rule.nesterov else buffer)
    )


def _adam(rule: Rule, p: np.ndarray, g: np.ndarray, state: State) -> np.ndarray:
    m = rule.beta1 * _slot(state, "m", g) + (1 - rule.beta1) * g
    v = rule.beta2 * _slot(state, "v", g, rule.start) + (1 - rule.beta2) * g * g
    state.slots["m"], state.slots["v"] = m, v
    if rule.amsgrad:
        v = state.slots["v_max"] = np.maximum(_slot(state, "v_max", g), v)
    c1 = 1 - rule.beta1**state.step if rule.bias_correction else 1.0
    c2 = 1 - rule.beta2**state.step if rule.bias_correction else 1.0
    if rule.epsilon_form == "raw":
        return np.asarray(
            p - rule.learning_rate * np.sqrt(c2) / c1 * m / (np.sqrt(v) + rule.epsilon)
        )
    if rule.epsilon_form == "inside":
        return np.asarray(p - rule.learning_rate / c1 * m / np.sqrt(v / c2 + rule.epsilon))
    return np.asarray(p - rule.learning_rate / c1 * m / (np.sqrt(v / c2) + rule.epsilon))


def _rmsprop(rule: Rule, p: np.ndarray, g: np.ndarray, state: State) -> np.ndarray:
    v = rule.rho * _slot(state, "v", g, rule.start) + (1 - rule.rho) * g * g
    state.slots["v"] = v
    if rule.centered:
        mean = rule.rho * _slot(state, "mean", g) + (1 - rule.rho) * g
        state.slots["mean"] = mean
        v = v - mean * mean
    step = g / _root(rule, v)
    if not rule.momentum:
        return np.asarray(p - rule.learning_rate * step)
    if rule.momentum_form == "stored":
        step = rule.learning_rate * step
    buffer = rule.momentum * _slot(state, "momentum", g) + step
    state.slots["momentum"] = buffer
    return np.asarray(
        p - (buffer if rule.momentum_form == "stored" else rule.learning_rate * buffer)
    )


def _adagrad(rule: Rule, p: np.ndarray, g: np.ndarray, state: State) -> np.ndarray:
    total = _slot(state, "sum", g, rule.start) + g * g
    state.slots["sum"] = total
    rate = rule.learning_rate / (1 + (state.step - 1) * rule.rate_decay)
    return np.asarray(p - rate * g / _root(rule, total))


def _adamax(rule: Rule, p: np.ndarray, g: np.ndarray, state: State) -> np.ndarray:
    m = rule.beta1 * _slot(state, "m", g) + (1 - rule.beta1) * g
    inside = rule.epsilon if rule.epsilon_form == "inside" else 0.0
    u = np.maximum(rule.beta2 * _slot(state, "u", g), np.abs(g) + inside)
    state.slots["m"], state.slots["u"] = m, u
    outside = rule.epsilon if rule.epsilon_form != "inside" else 0.0
    return np.asarray(p - rule.learning_rate / (1 - rule.beta1**state.step) * m / (u + outside))


def _adadelta(rule: Rule, p: np.ndarray, g: np.ndarray, state: State) -> np.ndarray:
    v = rule.rho * _slot(state, "v", g) + (1 - rule.rho) * g * g
    moved = _slot(state, "moved", g)
    step = np.sqrt(moved + rule.epsilon) / np.sqrt(v + rule.epsilon) * g
    state.slots["v"] = v
    state.slots["moved"] = rule.rho * moved + (1 - rule.rho) * step * step
    return np.asarray(p - rule.learning_rate * step)


def _nadam(rule: Rule, p: np.ndarray, g: np.ndarray, state: State) -> np.ndarray:
    def momentum(step: int) -> float:
        return float(rule.beta1 * (1.0 - 0.5 * 0.96 ** (step * rule.momentum_decay)))

    now, after = momentum(state.step), momentum(state.step + 1)
    product = float(_slot(state, "product", np.ones(()), 1.0)) * now
    state.slots["product"] = np.asarray(product)
    m = rule.beta1 * _slot(state, "m", g) + (1 - rule.beta1) * g
    v = rule.beta2 * _slot(state, "v", g) + (1 - rule.beta2) * g * g
    state.slots["m"], state.slots["v"] = m, v
    mean = after * m / (1 - product * after) + (1 - now) * g / (1 - product)
    root = np.sqrt(v / (1 - rule.beta2**state.step)) + rule.epsilon
    return np.asarray(p - rule.learning_rate * mean / root)


def _root(rule: Rule, v: np.ndarray) -> np.ndarray:
    if rule.epsilon_form == "inside":
        return np.asarray(np.sqrt(np.maximum(v + rule.epsilon, 0)))
    return np.asarray(np.sqrt(np.maximum(v, 0)) + rule.epsilon)


def torch_rule(kind: str, settings: Mapping[str, Any]) -> Rule | None:
    """The rule of a torch optimizer; None for one that is not known here."""
    s = dict(settings)
    common: dict[str, Any] = {
        "learning_rate": float(s.get("lr", 0.0)),
        "weight_decay": float(s.get("weight_decay") or 0.0),
        "maximize": bool(s.get("maximize", False)),
        "epsilon": float(s.get("eps", 0.0)),
    }
    betas = s.get("betas", (0.9, 0.999))
    if kind == "SGD":
        return Rule("sgd", **common, momentum=float(s["momentum"]),
                    dampening=float(s["dampening"]), nesterov=bool(s["nesterov"]))  # fmt: skip
    if kind in ("Adam", "AdamW"):
        form = "decoupled" if kind == "AdamW" or s.get("decoupled_weight_decay") else "coupled"
        return Rule("adam", **common, beta1=float(betas[0]), beta2=float(betas[1]),
                    amsgrad=bool(s["amsgrad"]), epsilon_form="corrected",
                    decay_form=form)  # fmt: skip
    if kind == "RMSprop":
        return Rule("rmsprop", **common, rho=float(s["alpha"]), momentum=float(s["momentum"]),
                    centered=bool(s["centered"]))  # fmt: skip
    if kind == "Adagrad":
        return Rule("adagrad", **common, start=float(s["initial_accumulator_value"]),
                    rate_decay=float(s["lr_decay"]))  # fmt: skip
    if kind == "Adamax":
        return Rule("adamax", **common, beta1=float(betas[0]), beta2=float(betas[1]),
                    epsilon_form="inside")  # fmt: skip
    if kind == "Adadelta":
        return Rule("adadelta", **common, rho=float(s["rho"]), epsilon_form="inside")
    if kind == "NAdam":
        form = "decoupled" if s.get("decoupled_weight_decay") else "coupled"
        return Rule("nadam", **common, beta1=float(betas[0]), beta2=float(betas[1]),
                    decay_form=form, momentum_decay=float(s["momentum_decay"]))  # fmt: skip
    return None


def keras_rule(kind: str, settings: Mapping[str, Any]) -> Rule | None:
    """The rule of a Keras optimizer; None for one that is not known here."""
    s = dict(settings)
    clipping = next(
        (
            (form, float(s[name]))
            for name, form in (("clipnorm", "norm"), ("clipvalue", "value"),
                               ("global_clipnorm", "global"))
            if s.get(name)
        ),
        None,
    )  # fmt: skip
    common: dict[str, Any] = {
        "learning_rate": float(s["learning_rate"]),
        "weight_decay": float(s.get("weight_decay") or 0.0),
        "decay_form": "decoupled",
        "epsilon": float(s.get("epsilon") or 0.0),
        "clip": clipping,
    }
    if kind == "SGD":
        return Rule("sgd", **common, momentum=float(s["momentum"]), nesterov=bool(s["nesterov"]),
                    momentum_form="stored")  # fmt: skip
    if kind in ("Adam", "AdamW"):
        return Rule("adam", **common, beta1=float(s["beta_1"]), beta2=float(s["beta_2"]),
                    amsgrad=bool(s["amsgrad"]), epsilon_form="raw")  # fmt: skip
    if kind == "RMSprop":
        return Rule("rmsprop", **common, rho=float(s["rho"]), momentum=float(s["momentum"]),
                    centered=bool(s["centered"]), epsilon_form="inside",
                    momentum_form="stored")  # fmt: skip
    if kind == "Adagrad":
        return Rule("adagrad", **common, start=float(s["initial_accumulator_value"]),
                    epsilon_form="inside")  # fmt: skip
    if kind == "Adamax":
        return Rule("adamax", **common, beta1=float(s["beta_1"]), beta2=float(s["beta_2"]),
                    epsilon_form="outside")  # fmt: skip
    if kind == "Adadelta":
        return Rule("adadelta", **common, rho=float(s["rho"]), epsilon_form="inside")
    if kind == "Nadam":
        return Rule("nadam", **common, beta1=float(s["beta_1"]), beta2=float(s["beta_2"]))
    return None
