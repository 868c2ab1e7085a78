from __future__ import annotations

from typing import Any

from dtrain_lab.wire.links import StoreAnswer, StoreCall
from dtrain_lab.world.rendezvous import Store


class Rank:
    def __init__(self) -> None:
        self.answers: dict[int, StoreAnswer] = {}
        self.store = Store(lambda rank, answer: self.answers.update({answer.id: answer}))
        self._next = 0

    def call(self, operation: Any, *keys: str, rank: int = 0, **more: Any) -> int:
        self._next += 1
        self.store.call(StoreCall(rank=rank, id=self._next, operation=operation, keys=keys, **more))
        return self._next

    def ask(self, operation: Any, *keys: str, **more: Any) -> StoreAnswer:
        return self.answers[self.call(operation, *keys, **more)]


def test_set_get_check_count_delete() -> None:
    rank = Rank()
    rank.ask("set", "a", value=b"1")
    assert rank.ask("get", "a").value == b"1"
    assert (rank.ask("check", "a").number, rank.ask("check", "a", "b").number) == (1, 0)
    assert rank.ask("count").number == 1
    assert (rank.ask("delete", "a").number, rank.ask("delete", "a").number) == (1, 0)


def test_a_get_waits_for_its_key() -> None:
    rank = Rank()
    waiting = rank.call("get", "later", rank=1)
    assert waiting not in rank.answers
    rank.call("set", "later", value=b"x")
    assert rank.answers[waiting].value == b"x"


def test_a_wait_needs_all_its_keys() -> None:
    rank = Rank()
    waiting = rank.call("wait", "a", "b")
    rank.call("set", "a", value=b"")
    assert waiting not in rank.answers
    rank.call("add", "b", amount=2)
    assert waiting in rank.answers


def test_counters_add_up_and_read_as_text() -> None:
    rank = Rank()
    assert [rank.ask("add", "n", amount=k).number for k in (1, 2, -1)] == [1, 3, 2]
    assert rank.ask("get", "n").value == b"2"


def test_compare_set() -> None:
    rank = Rank()
    assert rank.ask("compare_set", "k", expected=b"", value=b"1").value == b"1"
    assert rank.ask("compare_set", "k", expected=b"9", value=b"2").value == b"1"
    assert rank.ask("compare_set", "k", expected=b"1", value=b"2").value == b"2"
    assert rank.ask("compare_set", "other", expected=b"9", value=b"2").value == b"9"


def test_a_rank_that_is_gone_and_a_generation_that_is_over_are_forgotten() -> None:
    rank = Rank()
    waiting = rank.call("get", "gen2/x", rank=3)
    rank.store.forget(3)
    rank.call("set", "gen2/x", value=b"1")
    assert waiting not in rank.answers
    rank.call("set", "gen20/x", value=b"1")
    rank.store.drop("gen2/")
    assert rank.ask("check", "gen2/x").number == 0
    assert rank.ask("check", "gen20/x").number == 1
