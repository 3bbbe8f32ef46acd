"""Draws of whole numbers: integers of a range, permutations, choices and classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from parity.errors import InvalidInput
from parity.random import arguments as check
from parity.random import distributions as dist
from parity.random.draws import Draws, Shape

#: Weights of categorical draws are counted in units of 2^-40 of the likeliest class, so that the
#: sums over MOST_CLASSES stay below 2^62; those of ``choice``, which sum to 1, in units of 2^-52.
LOGIT_UNITS = 2.0**40
MOST_CLASSES = 2**22
PROBABILITY_UNITS = 2.0**52


class Selections(Draws):
    """The draws of :class:`Draws` and those that select."""

    def integers(self, shape: Shape, low: Any, high: Any, *, dtype: str = "int64") -> Any:
        """Unbiased integers of [low, high): ``low + floor(U (high - low) / 2^128)``.

        U is a whole block read as one number, word 0 lowest, so that the probability of each value
        is within 2^-128 of uniform without a rejection loop, whose length would depend on the data.
        Source: Lemire, "Fast random integer generation in an interval", 2019, with more bits in
        place of the rejection.

        Args:
            shape: of the result.
            low: smallest value; a whole number, or integers that broadcast to ``shape``. A tensor
                may change from step to step in a compiled graph (the fill of a buffer).
            high: bound that is never drawn. For arrays ``high - low`` is below 2^63.
            dtype: int32 or int64.

        Raises:
            InvalidInput: another dtype, a negative or unknown size, an empty range. The values of
                framework tensors are not read.
        """
        shape = check.check_shape(shape)
        check.check_dtype(dtype, check.WHOLE)
        count, ops = check.size_of(shape), self._ops
        if check.is_whole(low) and check.is_whole(high):
            check.check_whole_range(int(low), int(high), dtype)
            values = self._integers(count, int(low), int(high) - int(low))
        else:
            start, stop = self._bounds(low, high, shape, dtype)
            values = self._integers_between(count, start, stop - start)
        return ops.reshape(ops.cast(values, dtype), shape)

    def _bounds(self, low: Any, high: Any, shape: tuple[int, ...], dtype: str) -> tuple[Any, Any]:
        """Array bounds as int64 vectors with an entry per value."""
        ops = self._ops
        if not ops.is_tensor(low) and not ops.is_tensor(high):
            low, high = check.check_whole_ranges(low, high, dtype)
        for name, bound in (("low", low), ("high", high)):
            if check.is_whole(bound):
                continue
            if ops.is_tensor(bound):
                given, whole = ops.shape(bound), ops.kind(bound) == "i"
            else:
                given, whole = np.shape(bound), np.asarray(bound).dtype.kind in "iu"
            if not whole:
                raise InvalidInput(f"{name}: bounds are whole numbers")
            check.check_broadcast(given, shape, name)
        start, stop = (ops.broadcast_to(ops.asarray(b, "int64"), shape) for b in (low, high))
        return ops.reshape(start, (-1,)), ops.reshape(stop, (-1,))

    def _integers(self, count: int, low: int, width: int) -> Any:
        ops = self._ops

        def column(*words: Any) -> tuple[Any, ...]:
            if width < 2**31:
                return (dist.scaled_small(ops, words, width) + low,)
            if width == 2**64:
                offset = (words[2], words[3])
            else:
                offset = dist.scaled_wide(ops, words, dist.halves(ops, width))
            return (dist.add64(ops, offset, dist.halves(ops, low)),)

        return self._blocks(count, column, 1, "int64")

    def _integers_between(self, count: int, low: Any, width: Any) -> Any:
        ops = self._ops

        def column(*args: Any) -> tuple[Any, ...]:
            offset = dist.scaled_wide(ops, args[:4], dist.halves(ops, args[5]))
            return (dist.add64(ops, offset, dist.halves(ops, args[4])),)

        return self._blocks(count, column, 1, "int64", low, width)

    def permutation(self, n: int) -> Any:
        """The numbers 0 .. n - 1 in random order: the stable ascending order of n 64-bit draws.

        Two of the draws are equal, and then keep their order, with probability below n^2 / 2^65.

        Returns:
            int64 [n].

        Raises:
            InvalidInput: ``n`` is not a whole number of at least 0.
        """
        n = check.check_count(n, "n")
        return self._ops.argsort(self._bits(n, "int64"))

    def choice(self, n: int, shape: Shape, *, replace: bool = True, p: Any = None) -> Any:
        """Positions in [0, n), with or without replacement, equally likely or by ``p``.

        With replacement: :meth:`integers`, or with ``p`` the class at which the running sum of
        ``floor(p 2^52)`` passes an integer drawn below the total; all of it in integers. Without:
        the first entries of :meth:`permutation`, or with ``p`` those of the ascending order of
        ``-ln(1 - u_i) / p_i``, which draws one by one among the rest in proportion to ``p``.
        Source: Efraimidis and Spirakis, "Weighted random sampling with a reservoir", 2006.

        Args:
            n: number of items.
            shape: of the result.
            replace: whether an item can be chosen twice.
            p: probability per item, [n], with sum 1; a tensor is only taken relative to its sum.

        Returns:
            int64 of ``shape``.

        Raises:
            InvalidInput: more items than there are (with p > 0) without replacement, ``p`` of a
                wrong shape, negative, not finite or with another sum (the values of tensors are
                not read).
        """
        shape, ops = check.check_shape(shape), self._ops
        count = check.size_of(shape)
        check.check_population(n, count, replace=replace)
        if p is None:
            if replace:
                return self.integers(shape, 0, max(n, 1))
            return ops.reshape(self.permutation(n)[:count], shape)
        if ops.is_tensor(p):
            if ops.kind(p) != "f" or ops.shape(p) != (n,):
                raise InvalidInput(f"p: one floating probability for each of n={n} items")
        else:
            p = check.check_probabilities(p, n, count, replace=replace)
        chosen = self._weighted(n, count, ops.asarray(p, "float64"), replace)
        return ops.reshape(chosen, shape)

    def _weighted(self, n: int, count: int, p: Any, replace: bool) -> Any:
        ops = self._ops
        if not replace:
            waiting = -ops.log(1.0 - self._uniform(n, "float64"))
            never = ops.asarray(float("inf"), "float64")
            safe = ops.where(p > 0.0, p, ops.asarray(1.0, "float64"))
            return ops.argsort(ops.where(p > 0.0, waiting / safe, never))[:count]
        if count == 0:
            return self._integers(0, 0, 1)
        running = ops.cumsum_last(ops.cast(p * PROBABILITY_UNITS, "int64"))
        total = ops.broadcast_to(running[-1:], (count,))
        drawn = self._integers_between(count, total - total, total)
        return ops.minimum(ops.count_not_above(running, drawn), n - 1)

    def categorical(self, logits: Any, *, shape: Shape = ()) -> Any:
        """Classes with probability ``softmax(logits)`` over the last axis.

        Each class weighs ``floor(2^40 exp(logit - largest logit))``, computed in float64; an
        integer below the row's total weight is drawn as in :meth:`integers`, one block per result,
        and the class is where the running sum passes it. A class whose logit is 27.7 below the
        largest is never drawn, nor is one with logit -inf.

        Args:
            logits: [..., C] floating; C at most 2^22.
            shape: of independent draws per row.

        Returns:
            int64 of ``shape + logits.shape[:-1]``.

        Raises:
            InvalidInput: no class, too many, another dtype, NaN, +inf or a row without a finite
                logit (tensors' values are not read), or a negative or unknown size.
        """
        ops, samples = self._ops, check.check_shape(shape)
        if not ops.is_tensor(logits):
            logits = check.check_logits(logits)
        elif ops.kind(logits) != "f":
            raise InvalidInput("logits: floating numbers are needed")
        rows, classes = check.check_classes(ops.shape(logits), MOST_CLASSES)
        scores = ops.asarray(logits, "float64")
        weights = ops.cast(ops.exp(scores - ops.max_last(scores)) * LOGIT_UNITS, "int64")
        running = ops.cumsum_last(weights)
        result = (*samples, *rows)
        count = check.size_of(result)
        total = ops.reshape(ops.broadcast_to(running[..., -1], result), (count,))
        drawn = ops.reshape(self._integers_between(count, total - total, total), (*result, 1))
        return ops.minimum(ops.count_last(running <= drawn), classes - 1)
