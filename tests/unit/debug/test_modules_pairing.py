"""Which layer is which: by order, kind, shape and name; a doubtful pair is an error."""

from __future__ import annotations

import pytest

from parity.debug.pairing import Step, pair
from parity.errors import AlignmentError


def dense(path: str, fan_in: int, fan_out: int) -> Step:
    return Step(path, "dense", (fan_out,), {"kernel": (fan_in, fan_out), "bias": (fan_out,)})


def relu(path: str) -> Step:
    return Step(path, "activation", None, None, "relu")


def test_order_pairs_layers_of_other_names() -> None:
    torch = [dense("0", 3, 5), relu("1"), dense("2", 5, 2)]
    tf = [dense("dense", 3, 5), relu("re_lu"), dense("dense_1", 5, 2)]
    assert pair(torch, tf).pairs == ((0, 0), (1, 1), (2, 2))


def test_namesakes_are_paired_in_whatever_order_they_are_called() -> None:
    torch = [dense("q1", 4, 4), dense("q2", 4, 4)]
    tf = [dense("q2", 4, 4), dense("q1", 4, 4)]
    assert pair(torch, tf).pairs == ((0, 1), (1, 0))


def test_a_map_overrules_names() -> None:
    torch = [dense("a", 4, 4), dense("b", 4, 4)]
    tf = [dense("b", 4, 4), dense("a", 4, 4)]
    assert pair(torch, tf, names={"a": "b", "b": "a"}).pairs == ((0, 0), (1, 1))


def test_a_map_with_an_unknown_layer_lists_those_that_there_are() -> None:
    with pytest.raises(AlignmentError, match="names 'c', but tf calls: b"):
        pair([dense("a", 4, 4)], [dense("b", 4, 4)], names={"a": "c"})


def test_a_missing_activation_leaves_its_partner_alone() -> None:
    torch = [dense("0", 3, 5), relu("1"), dense("2", 5, 2)]
    found = pair(torch, [dense("d0", 3, 5), dense("d1", 5, 2)])
    assert found.pairs == ((0, 0), (2, 1))
    assert found.only_torch == (1,)


def test_a_layer_with_weights_on_one_side_only_stays_alone() -> None:
    norm = Step("n", "layer_norm", (5,), {"gamma": (5,), "beta": (5,)})
    found = pair([dense("0", 3, 5), norm, dense("2", 5, 2)], [dense("x", 3, 5), dense("y", 5, 2)])
    assert found.pairs == ((0, 0), (2, 1))
    assert found.only_torch == (1,)


def test_two_equally_good_partners_are_refused_with_the_map_to_write() -> None:
    torch = [dense("first", 4, 4), dense("third", 4, 4)]
    tf = [dense("x", 4, 4), dense("y", 4, 4), dense("z", 4, 4)]
    with pytest.raises(AlignmentError, match=r"could be tf .* map file:\n  \w+: \w+"):
        pair(torch, tf)


def test_other_activations_are_still_partners() -> None:
    leaky = Step("act", "activation", None, None, "leaky_relu")
    found = pair([dense("0", 3, 5), relu("1")], [dense("d", 3, 5), leaky])
    assert found.pairs == ((0, 0), (1, 1))


def test_of_two_equal_activations_the_first_is_the_partner() -> None:
    torch = [dense("0", 3, 5), relu("1"), dense("2", 5, 2)]
    tf = [dense("d", 3, 5), relu("d/activation"), relu("act"), dense("e", 5, 2)]
    found = pair(torch, tf)
    assert found.pairs == ((0, 0), (1, 1), (2, 3))
    assert found.only_tf == (2,)


def test_long_sequences_are_paired_quickly() -> None:
    torch = [dense(f"t{i}", 3 + i, 4 + i) for i in range(150)]
    tf = [dense(f"k{i}", 3 + i, 4 + i) for i in range(150)]
    assert pair(torch, tf).pairs == tuple((i, i) for i in range(150))


def test_names_are_likened_for_few_pairs_of_a_deep_network(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from parity.debug import aligning

    asked: list[tuple[str, str]] = []
    likeness = aligning._likeness

    def counted(a: str, b: str) -> float:
        asked.append((a, b))
        return likeness(a, b)

    monkeypatch.setattr(aligning, "_likeness", counted)

    def chain(depth: int, name: str) -> list[Step]:
        return [s for k in range(depth) for s in (dense(f"{name}/{k}", 4, 4), relu(f"act/{k}"))]

    counts = []
    for depth in (32, 64):
        asked.clear()
        found = pair(chain(depth, "body/fc"), chain(depth, "layers/dense"))
        assert found.pairs == tuple((k, k) for k in range(2 * depth))
        counts.append(len(asked))
    assert counts[1] <= 2.5 * counts[0]


def test_a_bound_of_a_likeness_is_never_below_it() -> None:
    from parity.debug import aligning

    names = ["", "0", "12", "21", "body/fc/3", "layers/dense/30", "re/lu/1", "dense"]
    bound = aligning._likeness_at_most(names, names)
    for i, a in enumerate(names):
        for j, b in enumerate(names):
            assert bound[i, j] >= aligning._likeness(a, b)
