"""Values that are sent or compared: all that makes them what they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from dtrain_lab.cells.diff import compare
from dtrain_lab.rank.data import fingerprint, transfer


def sent(value: Any) -> Any:
    packed = transfer.pack(value)
    try:
        return transfer.unpack(packed)
    finally:
        transfer.release(packed.token)


COMPLEX = torch.tensor([1 + 2j, 3 - 1j])


@pytest.mark.parametrize("value", [COMPLEX.conj(), COMPLEX.conj().imag, COMPLEX.conj()[:1]])
def test_a_view_arrives_with_its_own_numbers(value: torch.Tensor) -> None:
    assert value.is_conj() or value.is_neg()
    assert torch.equal(sent(value), value)


def test_an_array_keeps_its_fields() -> None:
    value = np.array([(1, 2.5, "a"), (2, 3.5, "b")], [("n", "<i4"), ("x", "<f8"), ("name", "U3")])
    got = sent({"table": value, "empty": value[:0]})
    assert got["table"].dtype == got["empty"].dtype == value.dtype
    assert np.array_equal(got["table"], value)


SPARSE = torch.eye(3).to_sparse()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("x" * 300 + "a", "x" * 300 + "b"),
        (10**300, 10**300 + 1),
        (COMPLEX.conj(), COMPLEX),
        (COMPLEX.conj().imag, COMPLEX.imag),
        (SPARSE, 2 * SPARSE),
        (np.array([(1, 2.5)], "i4,f8"), np.array([(1, 3.5)], "i4,f8")),
        (np.array(["a"]), np.array(["b"])),
    ],
    ids=str,
)
def test_values_that_differ_are_told_apart(one: Any, other: Any) -> None:
    a, again, b = (fingerprint.leaves_of(each) for each in (one, one, other))
    assert compare({0: a, 1: again}).differing == 0
    found = compare({0: a, 1: b})
    assert found.differing == 1
    if found.first is not None and found.first.comparable:
        distance = fingerprint.values_of(one, "") - fingerprint.values_of(other, "")
        assert abs(distance).max() > 0


def test_the_gpu_of_a_rank_becomes_that_of_the_rank_that_takes_its_variables_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 1)
    values = {name: torch.device(name) for name in ("cuda:0", "cuda:1", "cpu")}
    packed = transfer.pack(values, namespace={})
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 3)
    got = transfer.unpack(packed, namespace={})
    assert {name: str(device) for name, device in got.items()} == {
        "cuda:0": "cuda:0",
        "cuda:1": "cuda:3",
        "cpu": "cpu",
    }
    assert sent(values) == values, "what is pushed or pulled stays as it is"
