"""What a difference between two optimizers says."""

from __future__ import annotations

from parity.diagnose.causes import CAUSES
from parity.diagnose.sentences import Facts, said_value


def optimizer_text(cause: str, facts: Facts) -> str:
    """What the two optimizers hold of one setting."""
    torch, tf = f"torch.optim.{facts['torch_kind']}", f"keras.optimizers.{facts['tf_kind']}"
    if facts["tf_kind"].startswith("the "):
        tf = facts["tf_kind"]
    largest = cause == "epsilon-placement" and facts["torch_kind"] == "Adamax"
    special = _ADAMAX if largest else _OPTIMIZER.get(cause)
    if special is not None:
        return special.format(torch=torch, tf=tf, a=facts["torch"], b=facts["tf"])
    if cause == "float32-inside":
        return f"the rates of {tf} are float32's: {facts['tf']!r} for {facts['torch']!r}"
    if "torch_rates" in facts:
        shapes = facts.get("shapes")
        said = f": {shapes[0]} in torch, {shapes[1]} in tf" if shapes else ""
        if "shifted" in facts:
            said = f": torch's, one step {facts['shifted']}"
        return (f"the rates are {facts['torch_rates']} in {torch}, {facts['tf_rates']} in {tf}"
                f"{said}")  # fmt: skip
    name = str(facts["setting"]).replace("_", " ")
    return f"{name} is {said_value(facts['torch'])} in {torch}, {said_value(facts['tf'])} in {tf}"


_ADAMAX = (
    "{torch} adds epsilon to |gradient|, inside of the maximum, {tf} to the maximum itself: they "
    "part where gradients are small, at equal epsilons too"
)

_OPTIMIZER = {
    "epsilon-placement": (
        "{torch} adds epsilon to the root of the corrected average ({a}), {tf} elsewhere ({b}): "
        "equal epsilons are different numbers there"
    ),
    "momentum-rate": (
        "{torch} multiplies the velocity by the rate of the moment, {tf} keeps the rate inside its "
        "velocity: they part when the rate changes"
    ),
    "weight-decay-coupling": (
        "weight_decay is {a} in {torch} (added to the gradient where coupled), {b} in {tf} (the "
        "weights shrink by rate * decay where decoupled)"
    ),
    "decay-exclusion": (
        "{torch} decays this parameter by {a}, {tf} by {b}: the exclusions do not match"
    ),
    "accumulator-start": (
        "the average of squared gradients starts at {a} in {torch}, at {b} in {tf}"
    ),
    "gradient-clipping": "{torch} is given gradients clipped as {a}, {tf} clips as {b}",
    "l2-factor-two": "the decay is {a} in {torch}, {b} in {tf}",
}

_ARGUMENT = {
    "learning_rate": "learning_rate", "epsilon": "epsilon", "beta1": "beta_1", "beta2": "beta_2",
    "amsgrad": "amsgrad", "momentum": "momentum", "nesterov": "nesterov", "rho": "rho",
    "centered": "centered", "weight_decay": "weight_decay", "start": "initial_accumulator_value",
}  # fmt: skip


def optimizer_fix(cause: str, facts: Facts) -> str:
    """The argument to give, where the setting is one of Keras."""
    argument = _ARGUMENT.get(str(facts["setting"]))
    general = CAUSES[cause].fix
    if "shifted" in facts:
        step = "step + 1" if facts["shifted"] == "late" else "step - 1"
        return f"call the schedule with {step}: torch's scheduler counts otherwise; {general}"
    if "argument" in facts:
        return f"keras.optimizers.schedules.{facts['argument']}; {general}"
    if (
        argument is None
        or cause in ("decay-exclusion", "rate-schedule")
        or "the" in str(facts["tf_kind"])
    ):
        return general
    wanted = said_value(facts["torch"])
    return f"keras.optimizers.{facts['tf_kind']}({argument}={wanted}); {general}"
