"""Hosts of jobs begin together, or not at all: no two jobs wait for each other."""

from __future__ import annotations

from random import Random

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from dtrain_lab.core import gang, slots
from dtrain_lab.core.cluster import Reason
from dtrain_lab.core.plan import NodeFacts
from dtrain_lab.core.slots import Ticket
from dtrain_lab.core.wire import gang as wire

NAMES = ("a", "b", "c")
GPU = NodeFacts("", "", 1, 1, 1)
FULL = Reason("slots", "It needs 1 slots; 0 of 1 are free: job other holds 1.")


def test_all_go_once_the_last_has_room() -> None:
    made, answers = gang.hear(gang.begin(2, 0.0), wire.Holds(1), 1.0)
    assert (made.gone, answers) == (False, {1: "heard"})
    made, answers = gang.hear(made, wire.Waits(0, FULL), 1.0)
    assert gang.why(made, NAMES, 2.0, 1).message == f"a: {FULL.message}"
    made, answers = gang.hear(made, wire.Holds(0), 2.0)
    assert (made.gone, answers) == (True, {0: "go", 1: "go"})


def test_what_is_held_is_given_back_until_all_go() -> None:
    made, _ = gang.hear(gang.begin(2, 0.0), wire.Holds(1), 1.0)
    made, answers = gang.hear(made, wire.Holds(1, returns=True), 2.0)
    assert answers == {1: "return"}
    made, _ = gang.hear(made, wire.Holds(0), 3.0)
    assert not made.gone
    made, _ = gang.hear(made, wire.Holds(1), 4.0)
    # it asked just before it heard that all go
    made, answers = gang.hear(made, wire.Holds(1, returns=True), 5.0)
    assert answers == {1: "go"}


def test_a_host_that_is_never_heard_of_is_named_with_the_port_to_open() -> None:
    made, _ = gang.hear(gang.begin(2, 0.0), wire.Holds(0), 50.0)
    assert not gang.why(made, NAMES, 59.0, 20_005).final
    reason = gang.why(made, NAMES, 61.0, 20_005)
    assert reason.final
    assert "b did not reach a at port 20005" in reason.message
    assert "Open TCP port 20005 of a" in reason.hint


@given(st.text("0123456789abcdef", min_size=12, max_size=12), st.booleans())
def test_ports_are_in_the_profiles_range_and_none_is_tried_twice(identity: str, ranged: bool) -> None:
    allowed = range(20_000, 20_024) if ranged else None
    found = gang.ports(identity, allowed)
    assert len(set(found)) == len(found) == 24
    assert all(port in (allowed or range(20_000, 32_000)) for port in found)


def test_words_travel() -> None:
    for said in (wire.Waits(1, FULL), wire.Holds(2, True)):
        assert wire.said(wire.encode(said)) == said
    for answer in (wire.Go(20_001), wire.Return(), wire.Heard(), wire.HeadFound(b"{}")):
        assert wire.answer(wire.encode(answer)) == answer


JOBS = st.lists(st.sets(st.integers(0, 2), min_size=1, max_size=3).map(sorted), min_size=1, max_size=6)


@given(JOBS, st.randoms(use_true_random=False))
def test_every_job_runs_in_the_end_whoever_is_heard_of_first(jobs: list[list[int]], random: Random) -> None:
    """Three hosts with a slot each; jobs on some of them, which look for room in any order."""
    site = Site(jobs)
    for _ in range(3 * len(jobs) * len(NAMES)):
        turns = [(job, node) for job in site.gangs for node in range(len(jobs[job]))]
        random.shuffle(turns)
        for job, node in turns:
            site.look(job, node)
        if site.running and random.random() < 0.7:
            site.end(site.running[0])
    while site.running:
        site.end(site.running[0])
    assert not site.gangs, "nobody waits for ever"


class Site:
    """Hosts, their tickets, and the gangs of jobs that have not ended."""

    def __init__(self, jobs: list[list[int]]) -> None:
        self.jobs = jobs
        self.hosts: list[dict[str, Ticket]] = [{} for _ in NAMES]
        self.gangs = {job: gang.begin(len(on), 0.0) for job, on in enumerate(jobs)}
        self.running: list[int] = []
        for job, on in enumerate(jobs):
            for host in on:
                self.hosts[host][str(job)] = Ticket(str(job), "job", "", "me", 1, 1.0, 1, float(job))

    def look(self, job: int, node: int) -> None:
        """A host of a job looks for room, and tells the job's first host."""
        tickets = self.hosts[self.jobs[job][node]]
        mine, living = tickets[str(job)], list(tickets.values())
        if mine.holds:
            said: wire.Said = wire.Holds(node, slots.keeps_earlier_waiting(living, mine))
        else:
            answer = slots.turn(living, mine.id, GPU)
            if isinstance(answer, Ticket):
                tickets[mine.id] = answer
            said = wire.Holds(node) if isinstance(answer, Ticket) else wire.Waits(node, answer)
        before, (self.gangs[job], answers) = self.gangs[job], gang.hear(self.gangs[job], said, 1.0)
        if answers[node] == "return":
            tickets[mine.id] = msgspec.structs.replace(mine, holds=False, devices=())
        if self.gangs[job].gone and not before.gone:
            self.running.append(job)
            assert all(self.hosts[host][mine.id].holds for host in self.jobs[job]), "all of it, or none"
        assert sum(ticket.holds for ticket in tickets.values()) <= 1

    def end(self, job: int) -> None:
        """It gives all back."""
        self.running.remove(job)
        del self.gangs[job]
        for tickets in self.hosts:
            tickets.pop(str(job), None)
