"""Who gets slots: first come, first served, all of a job or none."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from dtrain_lab.placement.capacity import at_most, slot_count
from dtrain_lab.placement.slots.slots import Holder, Ticket, admit, chosen, listing
from dtrain_lab.placement.slots.ticket_reading import in_use, of_another_version
from dtrain_lab.wire.plan import NodeFacts

GPUS = NodeFacts("a", "", 16, 4, 1)
USABLE = ("0", "1", "2", "3")
CPUS = NodeFacts("a", "", 2, 0, 1)


def ticket(name: str, slots: int, at: float, *, holds: bool = False, devices: tuple[str, ...] = ()) -> Ticket:
    return Ticket(name, "job", name, "me", 1, 1.0, slots, at, holds, devices)


def test_a_machine_has_a_slot_a_gpu_or_eight_a_core() -> None:
    assert (slot_count(GPUS), slot_count(CPUS)) == (4, 16), "as the guide says"
    assert (slot_count(GPUS, 1), slot_count(CPUS, 0)) == (1, 16), "GPUs that a profile hides are none"


def test_how_many_ranks_fit_is_said_with_what_more_of_them_cost() -> None:
    assert at_most(CPUS) == "at most 64 ranks: 2 have a core each, more share cores and are slower"
    assert at_most(GPUS) == "at most 512 ranks: 4 have a GPU each, more share GPUs and are slower"
    one = NodeFacts("a", "", 1, 0, 1)
    assert at_most(one) == "at most 32 ranks: 1 has the core, more share it and are slower"
    assert at_most(CPUS, 16).startswith("at most 16 ranks: 2 have a core each"), "the administrator's limit"
    assert at_most(CPUS, 1000) == at_most(CPUS)
    assert (at_most(CPUS, 2), at_most(GPUS, 1)) == (
        "at most 2 ranks, with a core for each",
        "at most 1 rank, with a GPU for each",
    )


def test_a_job_gets_gpus_that_nobody_uses() -> None:
    running = ticket("one", 2, 1, holds=True, devices=("0", "2"))
    answer = admit([running, ticket("two", 2, 2)], "two", GPUS, USABLE)
    assert isinstance(answer, Ticket)
    assert (answer.holds, answer.devices) == (True, ("1", "3"))
    free_of_strangers = admit([ticket("two", 1, 2)], "two", GPUS, USABLE, taken=["0"])
    assert isinstance(free_of_strangers, Ticket)
    assert free_of_strangers.devices == ("1",)


def test_who_waits_is_told_for_what_and_nobody_overtakes() -> None:
    tickets = [
        ticket("big", 3, 1, holds=True, devices=("0", "1", "2")),
        ticket("two", 4, 2),
        ticket("one", 1, 3),
    ]
    first = admit(tickets, "two", GPUS, USABLE)
    assert not isinstance(first, Ticket)
    assert first.message == "Waits for all 4 slots; 1 is free: job big holds 3."
    small = admit(tickets, "one", GPUS, USABLE)
    assert not isinstance(small, Ticket)
    assert small.ahead == 1
    assert small.message == "Waits for 1 of 4 slots, behind 1 job; 1 is free: job big holds 3."
    hidden = admit([replace(tickets[0], devices=("0", "1")), tickets[1]], "two", GPUS, USABLE[:2])
    assert not isinstance(hidden, Ticket)
    assert hidden.message.startswith("Waits for all 2 slots; no slot is free"), (
        "it may use two of the four GPUs"
    )


def test_a_machine_has_one_number_of_slots_also_while_clusters_share_them() -> None:
    clusters = [replace(ticket(name, 6, 1, holds=True), kind="cluster") for name in ("a", "b", "c")]
    tickets = [*clusters, ticket("next", 2, 2)]
    waits = admit(tickets, "next", CPUS, ())
    assert not isinstance(waits, Ticket)
    held = ", ".join(f"cluster {name} holds 6" for name in "abc")
    assert waits.message == f"Waits for 2 of 16 slots; no slot is free, and some are shared: {held}."
    node = listing(tickets, CPUS, (), {}, {})
    assert (len(node.slots), node.excess) == (18, 2), "each of the holders' slots is listed"
    assert listing(clusters[:2], CPUS, (), {}, {}).excess == 0


def test_a_job_of_more_ranks_than_slots_waits_for_the_whole_machine_and_no_more() -> None:
    for facts, usable in ((GPUS, USABLE), (CPUS, ())):
        large = ticket("large", 10 * slot_count(facts), 1)
        assert isinstance(admit([large], "large", facts, usable), Ticket)
        before = ticket("one", 1, 0, holds=True, devices=usable[:1])
        assert not isinstance(admit([before, large], "large", facts, usable), Ticket)
        holding = replace(large, holds=True, devices=usable)
        assert not isinstance(admit([holding, ticket("two", 1, 2)], "two", facts, usable), Ticket)


@given(st.lists(st.integers(1, 20), min_size=1, max_size=12))
def test_slots_are_never_given_twice(sizes: list[int]) -> None:
    tickets = [ticket(f"j{n}", size, n) for n, size in enumerate(sizes)]
    for _ in range(len(tickets)):
        for index, one in enumerate(tickets):
            if not one.holds:
                answer = admit(tickets, one.id, CPUS, ())
                tickets[index] = answer if isinstance(answer, Ticket) else one
        held = [t for t in tickets if t.holds]
        assert sum(min(t.slots, slot_count(CPUS)) for t in held) <= slot_count(CPUS)
        # in order: nobody runs before somebody who came earlier and waits
        waiting = [t.at for t in tickets if not t.holds]
        assert all(t.at < min(waiting) for t in held) if waiting else True
        tickets = [t for t in tickets if t not in held[:1]]
        if not tickets:
            break


def test_what_is_shown() -> None:
    stranger = Holder("foreign", "9", "python", "her", 9)
    tickets = [ticket("one", 1, 1, holds=True, devices=("2",)), ticket("two", 4, 2)]
    node = listing(tickets, GPUS, USABLE, {"0": stranger}, {"0": 5, "2": 7})
    assert [slot.held_by.name if slot.held_by else None for slot in node.slots] == [
        "python",
        None,
        "one",
        None,
    ]
    assert [slot.memory_bytes for slot in node.slots] == [5, None, 7, None]
    assert [holder.name for holder in node.waiting] == ["two"]
    assert len(listing([], CPUS, (), {}, {}).slots) == slot_count(CPUS)


def test_a_job_that_waits_for_another_keeps_its_place_and_nobody_out() -> None:
    later = replace(ticket("after", 4, 1), ready=False)
    tickets = [later, ticket("now", 4, 2)]
    assert isinstance(admit(tickets, "now", GPUS, USABLE), Ticket)
    ready = admit([replace(later, ready=True), tickets[1]], "now", GPUS, USABLE)
    assert not isinstance(ready, Ticket)
    assert ready.ahead == 1


def test_slots_in_use_elsewhere() -> None:
    lines = b"\n".join(msgspec.json.encode(t) for t in (ticket("a", 2, 1, holds=True), ticket("b", 3, 2)))
    assert in_use(lines, {1}) == 5
    assert in_use(lines, {2}) == 0, "their processes have ended"
    assert in_use(b"", {1}) == 0


def test_tickets_of_another_version_count() -> None:
    newer = {**msgspec.to_builtins(ticket("a", 2, 1, holds=True)), "kind": "sweep", "at": "2030-01-01"}
    lines = b"\n".join((msgspec.json.encode(newer), msgspec.json.encode(ticket("b", 3, 2))))
    assert in_use(lines, {1}) == 5, "the other ones on the host are read, too"
    assert in_use(b"\xff{", {1}) == 1, "whose it is can't be known"
    read = of_another_version(msgspec.json.encode({**newer, "slots": 4, "devices": ["0", "1"]}))
    assert (read.id, read.holds, read.slots, read.devices) == ("a", True, 4, ("0", "1"))
    unreadable = of_another_version(b"{", "me.77")
    assert (unreadable.id, unreadable.pid, unreadable.started, unreadable.slots) == ("me", 77, 0.0, 1)


def test_a_cluster_shares_only_where_nothing_is_free_and_keeps_what_it_has() -> None:
    assert chosen(2, USABLE, held={"0"}, taken={"1"}) == ("2", "3")
    assert chosen(3, USABLE, held={"0"}, taken={"1"}) == ("1", "2", "3"), "rather computed on than held"
    assert chosen(8, USABLE, held={"0"}, taken=()) == USABLE
    assert chosen(3, USABLE, held={"0", "3"}, taken=(), current=("2",)) == ("2", "0", "1")
    assert chosen(1, USABLE, held=(), taken=(), current=("2", "3")) == ("2",)
    assert chosen(2, (), held=(), taken=()) == ()


def test_gpus_that_others_are_shown_keep_nobody_waiting() -> None:
    theirs = ticket("theirs", 2, 1, holds=True, devices=("0", "1"))
    mine = admit([theirs, ticket("mine", 2, 2)], "mine", replace(GPUS, gpus=2), ("2", "3"))
    assert isinstance(mine, Ticket)
    assert mine.devices == ("2", "3")
