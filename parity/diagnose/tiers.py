"""The order in which hypotheses about two functions are tried.

A tier is tried whole; the search ends behind the first one that explains everything. What has a
name comes before what has a free number, which could fit by chance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from parity.diagnose import (
    array_constants,
    attended,
    blends,
    class_weights,
    code_constants,
    coefficients,
    dtypes,
    extra_operations,
    factors,
    formulas,
    gradients,
    layouts,
    library,
    losses,
    masks,
    missing_operations,
    objects,
    operand_constants,
    operands,
    operation_settings,
    operations,
    ordering,
    parted,
    permuted,
    relations,
    repeated,
    state,
    terms,
)
from parity.diagnose.bench import Bench
from parity.diagnose.hypotheses import Hypothesis

Tier = Sequence[Callable[[Bench], Iterable[Hypothesis]]]


def quick_tiers(bench: Bench) -> list[Tier]:
    """What has a name and no free number."""
    first: list[Tier] = []
    if gradients.only_gradients(bench):
        first = [
            [gradients.stops, gradients.ties, gradients.unpicked, gradients.steps],
            [gradients.operand_stops, repeated.straight_through],
        ]
    if not any(np.asarray(a).dtype.kind == "f" for a in bench.inputs["tf"].values()):
        first.append([objects.settings, objects.initialisers])
    return [
        *first,
        [state.random_streams, state.seeding, losses.broadcasts, blends.complements,
         losses.argument_order, relations.entries, dtypes.widened],
        [library.settings, library.clipped],
        [ordering.variables, ordering.left_behind],
        [attended.masks],
        [operations.families, operations.quotients, objects.settings, losses.guards,
         losses.epsilon_places, losses.kinds, losses.smooth_l1, coefficients.coefficients],
        [masks.masks, operands.own_rows, operands.continued, operands.counted_from,
         formulas.formulas, repeated.flags],
        [operation_settings.parameters, array_constants.array_constants],
        [operation_settings.axes, layouts.layouts, layouts.interleaved, layouts.numbering,
         permuted.along_an_axis,
         operands.initial_values, repeated.axes, repeated.operations, repeated.indices],
    ]  # fmt: skip


def thorough_tiers(bench: Bench) -> list[Tier]:
    """Constants, missing and superfluous operations, masks, other operands, factors."""
    stateful = any(s.op.startswith("Assign") for s in bench.sites)
    return [
        *([[ordering.later_values, ordering.updates]] if stateful else []),
        [repeated.masks],
        [code_constants.named_constants, blends.ignored_arguments],
        [operand_constants.operation_constants],
        [class_weights.class_weights],
        [factors.sample_sizes],
        [objects.initialisers],
        [extra_operations.bypasses, extra_operations.clips, factors.named_factors, terms.combined],
        [factors.literal_factors],
        [
            missing_operations.known_raw,
            missing_operations.known_wraps,
            missing_operations.known_operands,
            missing_operations.known_inputs,
            repeated.complements,
            repeated.constant_terms,
        ],
        [objects.switches],
        [ordering.later_values, ordering.updates],
        [parted.named, parted.together],
        [terms.reordered, terms.reordered_clips],
        [missing_operations.wraps, missing_operations.given_raw, masks.selected, repeated.wraps],
        [library.solved, objects.solved_settings, code_constants.solved_constants],
        [masks.shifted_masks],
        [factors.factors, operand_constants.solved_operands, factors.paired_factors],
        [operands.shifts, operands.operands],
    ]


def inner_tiers(bench: Bench) -> list[Tier]:
    """What is tried where one fault hides behind another."""
    return [[extra_operations.bypasses, losses.broadcasts], *quick_tiers(bench)]
