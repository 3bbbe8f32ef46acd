"""Settings of a layer as causes: each is made torch's on the real layer, and the error measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from parity.backends.base import LayerCall
from parity.debug import axes, kinds
from parity.debug.config import Setting
from parity.debug.spatial import Padding, crop_of, padded_before, tf_padding, torch_padding
from parity.diagnose.found import Found
from parity.diagnose.variants import Bench, cloned


def explain(bench: Bench, settings: Sequence[Setting]) -> list[Found]:
    """Settings that, made torch's, remove the error: alone, else together."""
    alone = [f for s in settings for f in _alone(bench, s)]
    complete = [f for f in alone if bench.explained(f.after)]
    if complete:
        return complete
    return _together(bench, [s for s in settings if s.edit])


def _alone(bench: Bench, setting: Setting) -> Iterator[Found]:
    facts = {"name": setting.name, "torch": setting.torch, "tf": setting.tf}
    if setting.edit:
        tensors = bench.torch_tensors() if setting.cause == "reset-after" else None
        after = bench.try_edit(setting.edit, tensors, cause=setting.cause)
        if after is not None:
            yield Found(setting.cause, after, facts, setting.fix)


def _together(bench: Bench, settings: Sequence[Setting]) -> list[Found]:
    """Several settings of one layer at once, as few as it takes."""
    for count in range(2, len(settings) + 1):
        for chosen in combinations(settings, count):
            edit = {k: v for s in chosen for k, v in (s.edit or {}).items()}
            after = bench.try_edit(edit, cause=" and ".join(s.cause for s in chosen))
            if after is not None and bench.explained(after):
                return [
                    Found(
                        s.cause, after,
                        {"name": s.name, "torch": s.torch, "tf": s.tf, "together": count}, s.fix,
                    )
                    for s in chosen
                ]  # fmt: skip
    return []


def modes(bench: Bench) -> Iterator[Found]:
    """Training mode against inference mode; a frozen layer, which in Keras means inference."""
    if not kinds.is_norm(bench.torch.kind):
        return
    for training in (False, True):
        after = bench.try_run(
            partial(_rerun, training=training), cause="training-mode", what=f"training={training}"
        )
        if after is not None and bench.explained(after):
            yield Found("training-mode", after, {"torch": training, "tf": not training}, rank=0.4)
    if not getattr(bench.tf.layer, "trainable", True):
        after = bench.try_run(_unfrozen, cause="frozen-norm")
        if after is not None and bench.explained(after):
            yield Found("frozen-norm", after, {}, "layer.trainable = True", rank=0.3)


def _rerun(call: LayerCall, given: Sequence[np.ndarray], **keywords: Any) -> Any:
    assert call.rerun is not None
    return call.rerun(call.layer, given, **keywords)


def _unfrozen(call: LayerCall, given: list[np.ndarray]) -> Any:
    clone = cloned(call, given, {"trainable": True})
    clone.trainable = True
    assert call.rerun is not None
    return call.rerun(clone, given, training=True)


def paddings(bench: Bench, settings: Sequence[Setting]) -> Iterator[Found]:
    """Padding and cropping as torch does it, around the real layer without any."""
    family = kinds.describe(bench.tf.kind, bench.tf.layer)[0]
    kind = bench.tf.kind
    if kind.endswith("_transpose"):
        yield from _cropped(bench)
        return
    if family != kinds.POOL and not kind.startswith(("conv", "separable")):
        return
    if family == kinds.POOL and not hasattr(bench.tf.layer, "pool_size"):
        yield from _global(bench)
        return
    by_code = _padded_by_code(bench) if family != kinds.POOL else None
    if by_code is not None:
        yield by_code
        return
    for padding in ("causal", "same", "valid"):
        if padding == bench.tf.layer.padding:
            continue
        cause = "padding-causal" if padding == "causal" else "padding"
        after = bench.try_edit({"padding": padding}, cause=cause)
        if after is not None and bench.explained(after):
            yield Found(cause, after, {"padding": padding}, f'padding="{padding}"', rank=0.6)
            if padding == "causal":
                return
    amounts = torch_padding(bench.match)
    if amounts is None:
        return
    names = [kinds.describe(c.kind, c.layer)[1] for c in (bench.torch, bench.tf)]
    for cause, value, swap in _ways(bench, amounts, names):
        after = bench.noted(_padded(bench, amounts, value, swap), cause, f"padded by {amounts}")
        if after is not None and bench.explained(after):
            given = next((s for s in settings if s.name.startswith("padding (")), None)
            facts = {"amounts": amounts, "tf": given.tf if given else None}
            rank = 0.5 if cause in ("padding-value", "pooling-count") else 1.0
            yield Found(cause, after, facts, given.fix if given else "", rank)
            return


def _padded_by_code(bench: Bench) -> Found | None:
    """torch's code pads what it gives to the layer: the amounts, and what Keras has for them."""
    amounts = padded_before(bench.match)
    if amounts is None:
        return None
    bare = ((0, 0),) * len(amounts)
    after = bench.noted(_padded(bench, bare, 0.0, False), "padding", f"padded by {amounts}")
    if after is None or not bench.explained(after):
        return None
    own = tf_padding(bench.match)
    facts = {"amounts": amounts, "tf": own}
    past = all(end == 0 for _, end in amounts) and len(amounts) == 1
    if past and amounts[0][0] == sum(own[0] if own else ()):
        return Found("padding-causal", after, facts, 'padding="causal"', rank=0.3)
    said = amounts if len(amounts) > 1 else amounts[0]
    fix = f'keras.layers.ZeroPadding{len(amounts)}D({said}) before the layer, padding="valid"'
    cause = "padding-asymmetry" if bench.tf.layer.padding == "same" else "padding"
    return Found(cause, after, facts, fix, rank=0.3)


def _ways(
    bench: Bench, amounts: Padding, names: Sequence[str]
) -> Iterator[tuple[str, float, bool]]:
    """``(cause, value to pad with, whether the other kind of pooling is tried)``."""
    pool = "pool" in names[1]
    other = pool and names[0] != names[1]
    if not pool:
        symmetric = bench.tf.layer.padding == "same"
        yield ("padding-asymmetry" if symmetric else "padding"), 0.0, False
        return
    if "max" in names[0]:
        zero = len(bench.match.tf) > 1 or bench.tf.layer.padding == "valid"
        cause = "padding-value" if zero and any(sum(p) for p in amounts) else "padding-asymmetry"
        yield ("pooling-kind" if other else cause), -np.inf, other
        return
    yield ("pooling-kind" if other else "pooling-count"), 0.0, other


def _padded(bench: Bench, amounts: Padding, value: float, swap: bool) -> float | None:
    """Pad by hand, then the layer without padding; neighbours that pad are left out."""
    fitting = np.asarray(bench.match.inputs()[0].torch)
    if _last(bench):
        fitting = axes.to_tf(fitting, axes.CHANNELS_LAST)
    before = ((0, 0), *amounts, (0, 0)) if _last(bench) else ((0, 0), (0, 0), *amounts)
    padded = np.pad(fitting, before, constant_values=value).astype(bench.tf.inputs[0].dtype)
    clone_of = _other_pool(bench.tf.layer) if swap else None

    def run() -> Any:
        if clone_of is not None:
            config = {**bench.tf.layer.get_config(), "padding": "valid"}
            config.pop("name", None)
            layer = clone_of.from_config(config)
        else:
            layer = cloned(bench.tf, [padded], {"padding": "valid"})
        assert bench.tf.rerun is not None
        return bench.tf.rerun(layer, [padded, *bench.tf.inputs[1:]])

    try:
        return bench.error(run())
    except Exception:  # cannot be padded so: not the cause
        return None


def _last(bench: Bench) -> bool:
    return getattr(bench.tf.layer, "data_format", "channels_last") != "channels_first"


def _other_pool(layer: Any) -> Any:
    """Max pooling for average pooling and the other way round, of the same library."""
    import sys

    name = type(layer).__name__
    other = name.replace("Average", "Max") if "Average" in name else name.replace("Max", "Average")
    library = sys.modules["tf_keras" if type(layer).__module__.startswith("tf_keras") else "keras"]
    return getattr(library.layers, other)


def _global(bench: Bench) -> Iterator[Found]:
    layer = bench.tf.layer

    def run(call: LayerCall, given: list[np.ndarray]) -> Any:
        config = {k: v for k, v in layer.get_config().items() if k != "name"}
        assert call.rerun is not None
        return call.rerun(_other_pool(layer).from_config(config), given)

    after = bench.try_run(run, cause="pooling-kind", what=_other_pool(layer).__name__)
    if after is not None and bench.explained(after):
        name = _other_pool(layer).__name__
        yield Found("pooling-kind", after, {"other": name}, f"keras.layers.{name}()")


def _cropped(bench: Bench) -> Iterator[Found]:
    """A transposed convolution in full, cut as torch cuts it."""
    amounts = crop_of(bench.match)[0]
    assert amounts is not None
    target = bench.target.shape[2:]

    def run(call: LayerCall, given: list[np.ndarray]) -> Any:
        edit: Mapping[str, Any] = {"padding": "valid", "output_padding": None}
        full = np.asarray(call.rerun(cloned(call, given, edit), given))  # type: ignore[misc]
        first = 1 if _last(bench) else 2
        for axis, ((start, _), size) in enumerate(zip(amounts, target, strict=True), first):
            short = start + size - full.shape[axis]
            if short > 0:
                widths = [(0, short) if i == axis else (0, 0) for i in range(full.ndim)]
                full = np.pad(full, widths)
                if np.any(bench.tf.layer.use_bias):
                    return None
            full = np.take(full, range(start, start + size), axis)
        return full

    after = bench.try_run(run, cause="output-padding", what=f"cropped by {amounts}")
    if after is not None and bench.explained(after):
        cut = amounts if len(amounts) > 1 else amounts[0]
        fix = (
            f'keras.layers.{type(bench.tf.layer).__name__}(..., padding="valid"), then '
            f"keras.layers.Cropping{len(amounts)}D({cut})"
        )
        yield Found("output-padding", after, {"torch": amounts, "tf": crop_of(bench.match)[1]}, fix)


def attributes(bench: Bench) -> Iterator[Found]:
    """Numbers that layers of the user's own keep as attributes: each set to torch's in turn."""
    theirs, ours = _numbers(bench.torch.layer), _numbers(bench.tf.layer)
    for name, value in ours.items():
        for other, wanted in theirs.items():
            if wanted == value or not _alike(name, other):
                continue
            cause = "norm-epsilon" if "eps" in name.lower() else "constant-differs"
            object.__setattr__(bench.tf.layer, name, wanted)
            try:
                after = bench.try_run(_as_is, cause=cause, what=f"{name}={wanted!r}")
            finally:
                object.__setattr__(bench.tf.layer, name, value)
            if after is not None and bench.explained(after):
                facts = {"name": name, "torch": wanted, "tf": value}
                yield Found(cause, after, facts, f"{name} = {wanted!r}", rank=0.2)


def _numbers(layer: Any) -> dict[str, float]:
    return {
        name: value
        for name, value in vars(layer).items()
        if isinstance(value, (int, float)) and not isinstance(value, bool) and name[0] != "_"
    }


def _alike(a: str, b: str) -> bool:
    a, b = a.lower(), b.lower()
    return a == b or a.startswith(b) or b.startswith(a)


def inputs(bench: Bench) -> Iterator[Found]:
    """What the layer was given: a mask the other way round, time and batch exchanged."""
    for index, array in enumerate(bench.given):
        if array.dtype == bool:
            given = [~a if i == index else a for i, a in enumerate(bench.given)]
            name = bench.tf.names[index] if index < len(bench.tf.names) else "mask"
            after = bench.try_run(_as_is, given, cause="mask-polarity", what=f"not {name}")
            if after is not None and bench.explained(after):
                yield Found(
                    "mask-polarity",
                    after,
                    {"argument": name},
                    f"{name}=tf.logical_not(...)",
                    rank=0.3,
                )
    if (
        bench.given
        and bench.given[0].ndim == 3
        and bench.torch.kind in ("lstm", "gru", "rnn", "attention")
    ):
        swapped = [
            np.ascontiguousarray(np.swapaxes(a, 0, 1)) if a.ndim == 3 else a for a in bench.given
        ]
        output = bench.through(_as_is, swapped)
        if output is not None and np.ndim(output) == 3:
            after = bench.error(np.swapaxes(np.asarray(output), 0, 1))
            bench.noted(after, "time-axis", "time and batch exchanged")
            if bench.explained(after):
                yield Found("time-axis", after, {}, rank=0.3)


def masks(bench: Bench) -> Iterator[Found]:
    """What attention may see: a causal mask, or torch's own, on one side only."""
    if bench.torch.kind != "attention" or bench.tf.kind != "attention":
        return
    options: list[tuple[str, dict[str, Any]]] = [
        ("mask-missing", {"use_causal_mask": True}),
        ("mask-extra", {"use_causal_mask": False}),
    ]
    for array, name in zip(bench.torch.inputs, bench.torch.names, strict=False):
        if name not in ("attn_mask", "key_padding_mask"):
            continue
        kept = ~array if array.dtype == bool else array > -np.inf
        kept = kept[:, None, :] if name == "key_padding_mask" else kept
        options.append(("mask-missing", {"attention_mask": kept}))
    for cause, keywords in options:
        said = ", ".join(f"{n}={v if isinstance(v, bool) else '...'}" for n, v in keywords.items())
        after = bench.try_run(partial(_rerun, **keywords), cause=cause, what=said)
        if after is not None and bench.explained(after):
            fix = f"pass {said} when the layer is called"
            yield Found(cause, after, {"argument": said}, fix, rank=0.3)
            return


def _as_is(call: LayerCall, given: list[np.ndarray]) -> Any:
    assert call.replay is not None
    return call.replay(given)


def resizes(bench: Bench) -> Iterator[Found]:
    """The grids on which frameworks sample: corners aligned, half pixels, the floor."""
    if kinds.describe(bench.tf.kind, bench.tf.layer)[0] != kinds.RESIZE:
        return
    from parity.diagnose.resizing import resampled

    x = np.asarray(bench.match.inputs()[0].torch, dtype=np.float64)
    y = bench.target
    ours = axes.to_torch(np.asarray(bench.tf.output), bench.match.order)
    names: dict[str, str] = {}
    for name, made in resampled(x, y.shape[2:]):
        for side, array in (("torch", y), ("tf", ours)):
            if made.shape == array.shape and bench.explained(float(np.abs(made - array).max())):
                names.setdefault(side, name)
    if "torch" in names and names.get("torch") != names.get("tf"):
        facts = {"torch": names["torch"], "tf": names.get("tf", "another grid")}
        yield Found("resize-convention", 0.0, facts, rank=0.5)
