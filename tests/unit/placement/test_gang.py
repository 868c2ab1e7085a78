"""Hosts of jobs begin together, or not at all: no two jobs wait for each other."""

from __future__ import annotations

from random import Random

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from dtrain_lab.placement.slots import gang, slots
from dtrain_lab.placement.slots.slots import Ticket
from dtrain_lab.wire.cluster import Reason
from dtrain_lab.wire.jobs import gang as wire
from dtrain_lab.wire.plan import NodeFacts

NAMES = ("a", "b", "c")
GPU = NodeFacts("", "", 1, 1, 1)
FULL = Reason("slots", "Waits for the only slot; no slot is free: job other holds 1.")


def test_all_go_once_the_last_has_room() -> None:
    made, answers = gang.receive(gang.begin(2, 0.0), wire.Reserved(1, 1), 1.0)
    assert (made.gone, answers) == (False, {1: "heard"})
    made, answers = gang.receive(made, wire.Queued(0, FULL), 1.0)
    assert gang.why(made, NAMES, 2.0, 1).message == f"a: {FULL.message}"
    made, answers = gang.receive(made, wire.Reserved(0, 1), 2.0)
    assert (made.gone, answers) == (True, {0: "go", 1: "go"})


def test_what_is_held_is_given_back_until_all_go() -> None:
    made, _ = gang.receive(gang.begin(2, 0.0), wire.Reserved(1, 1), 1.0)
    made, answers = gang.receive(made, wire.Reserved(1, 1, True), 2.0)
    assert answers == {1: "return"}
    made, _ = gang.receive(made, wire.Reserved(0, 1), 3.0)
    assert not made.gone
    made, answers = gang.receive(made, wire.Reserved(1, 1), 3.5)
    assert (made.gone, answers) == (False, {1: "return"}), "said before it heard"
    made, _ = gang.receive(made, wire.Reserved(1, 2), 4.0)
    # it asked just before it heard that all go
    made, answers = gang.receive(made, wire.Reserved(1, 2, True), 5.0)
    assert answers == {1: "go"}


def test_a_host_that_is_never_heard_of_is_named_with_the_port_to_open() -> None:
    made, _ = gang.receive(gang.begin(2, 0.0), wire.Reserved(0, 1), 50.0)
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
    for said in (wire.Queued(1, FULL), wire.Reserved(2, 3, True), wire.EndpointsQuery(1, True)):
        assert wire.host_message(wire.encode(said)) == said
    for answer in (
        wire.Start(20_001),
        wire.ReleaseReservation(2),
        wire.Acknowledged(),
        wire.HeadFound(b"{}"),
    ):
        assert wire.answer(wire.encode(answer)) == answer


JOBS = st.lists(st.sets(st.integers(0, 2), min_size=1, max_size=3).map(sorted), min_size=1, max_size=6)


@given(JOBS, st.randoms(use_true_random=False))
def test_every_job_runs_in_the_end_whoever_is_heard_of_first(jobs: list[list[int]], random: Random) -> None:
    """Three hosts with a slot each; jobs on some of them, which look for room and are heard in any order."""
    site = Site(jobs)
    for _ in range(8 * len(jobs) * len(NAMES)):
        steps = [step for part in site.parts for step in (part.look, part.told, part.heard)]
        random.shuffle(steps)
        for step in steps:
            step()
        if site.running and random.random() < 0.7:
            site.end(site.running[0])
    while site.running:
        site.end(site.running[0])
    assert not site.parts, "nobody waits forever"


class Part:
    """A host's part in a job: what it says, and what it hears, takes a while."""

    def __init__(self, site: Site, job: int, node: int, host: int) -> None:
        self.site, self.job, self.node = site, job, node
        self.tickets = site.hosts[host]
        self.tickets[job] = Ticket(str(job), "job", "", "me", 1, 1.0, 1, float(job))
        self.up: list[wire.SlotsReport] = []
        self.down: list[tuple[gang.AnswerKind, wire.SlotsReport]] = []
        self.hold = 0
        self.goes = False

    def look(self) -> None:
        """Look for room, and say where this host stands."""
        if self.goes or self.job not in self.tickets:
            return
        mine, living = self.tickets[self.job], list(self.tickets.values())
        if mine.holds:
            said: wire.SlotsReport = wire.Reserved(
                self.node, self.hold, slots.delays_earlier_world(living, mine)
            )
        else:
            answer = slots.admit(living, mine.id, GPU, ("0",))
            if isinstance(answer, Ticket):
                self.tickets[self.job] = answer
                self.hold += 1
                said = wire.Reserved(self.node, self.hold)
            else:
                said = wire.Queued(self.node, answer)
        self.up.append(said)
        assert sum(ticket.holds for ticket in self.tickets.values()) <= 1

    def told(self) -> None:
        """The first host hears the next of what was said."""
        if not self.up or self.job not in self.site.gangs:
            return
        said = self.up.pop(0)
        before = self.site.gangs[self.job]
        self.site.gangs[self.job], answers = gang.receive(before, said, 1.0)
        for part in self.site.parts:
            if part.job == self.job and part.node in answers:
                part.down.append((answers[part.node], said))
        if self.site.gangs[self.job].gone and not before.gone:
            self.site.running.append(self.job)

    def heard(self) -> None:
        """This host hears the next answer."""
        if not self.down:
            return
        answer, said = self.down.pop(0)
        if answer == "go":
            self.goes = True
            assert self.tickets[self.job].holds, "it goes where it has room"
        elif answer == "return" and isinstance(said, wire.Reserved) and said.hold == self.hold:
            self.tickets[self.job] = msgspec.structs.replace(self.tickets[self.job], holds=False, devices=())


class Site:
    """Hosts, their tickets, and the jobs that have not ended."""

    def __init__(self, jobs: list[list[int]]) -> None:
        self.hosts: list[dict[int, Ticket]] = [{} for _ in NAMES]
        self.gangs = {job: gang.begin(len(on), 0.0) for job, on in enumerate(jobs)}
        self.running: list[int] = []
        self.parts = [Part(self, job, n, host) for job, on in enumerate(jobs) for n, host in enumerate(on)]

    def end(self, job: int) -> None:
        """Once all its hosts have begun, it ends and gives all back."""
        mine = [part for part in self.parts if part.job == job]
        for part in mine:
            while part.down:
                part.heard()
            assert part.goes
            del part.tickets[job]
        self.running.remove(job)
        del self.gangs[job]
        self.parts = [part for part in self.parts if part.job != job]
