"""What is previewed is what is submitted: a plan is a value with an id. Who types has nobody asked twice."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from dtrain_lab.backends.base import Place
from dtrain_lab.backends.hosts.local_transport import LocalTransport
from dtrain_lab.backends.local.backend import LocalBackend
from dtrain_lab.backends.ssh import backend as ssh_backend
from dtrain_lab.backends.ssh.backend import SshBackend
from dtrain_lab.errors import BadNotebook, BadRequest, BadSize, Conflict, StartFailed, Unreachable
from dtrain_lab.jobs.folder import read_folder_state
from dtrain_lab.jobs.judgement import LATE_S, judged
from dtrain_lab.jobs.state import job as derived
from dtrain_lab.placement.capacity import slot_count
from dtrain_lab.placement.policy import Policy
from dtrain_lab.services import paths
from dtrain_lab.services.index.store import JobIndex
from dtrain_lab.services.jobs.jobs import Jobs
from dtrain_lab.services.jobs.resumption import continued_record
from dtrain_lab.services.plans import packing, plan_store
from dtrain_lab.services.plans.answer_cache import AnswerCache
from dtrain_lab.services.plans.blocking_findings import refuse
from dtrain_lab.services.plans.plan_store import submittable
from dtrain_lab.services.policy import backends, policy
from dtrain_lab.services.profiles import environment
from dtrain_lab.wire.cluster import Reason
from dtrain_lab.wire.jobs.finding import Finding, problems
from dtrain_lab.wire.jobs.framework import FrameworkPlan
from dtrain_lab.wire.jobs.job import JobRecord, JobRequest
from dtrain_lab.wire.node_check import Check, Interface
from dtrain_lab.wire.plan import NodeFacts
from dtrain_lab.wire.processes.head_record import Handle
from dtrain_lab.wire.profile import Profile
from dtrain_lab.wire.status import Status
from tests.books import write
from tests.unit.jobs.records import RECORD


class Host(LocalBackend):
    """This machine, which counts what it is asked, and keeps what it is handed."""

    def __init__(self) -> None:
        self.asked = 0
        self.handed: list[tuple[JobRecord, dict[str, bytes]]] = []
        self.refuses = False

    async def facts(self, profile: Profile) -> Any:
        self.asked += 1
        return await super().facts(profile)

    async def submit(self, submission: Any, files: Mapping[str, bytes]) -> Handle:
        if self.refuses:
            raise StartFailed("The scheduler refuses.", "")
        self.handed.append((submission, dict(files)))
        return Handle(submission.id, "here", directory=submission.directory)


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Host:
    made = Host()
    monkeypatch.setattr(backends, "backend", lambda _: made)
    monkeypatch.setattr(paths, "profiles", lambda: tmp_path / "profiles")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "profiles").mkdir()
    (tmp_path / "project").mkdir()
    return made


@pytest.fixture
def book(tmp_path: Path) -> Path:
    (tmp_path / "project" / "model.py").write_text("x = 1")
    return write(tmp_path / "project" / "train.ipynb", ["import model\nprint(rank)"])


REQUEST = JobRequest("train.ipynb", ranks=2)


def with_jobs(tmp_path: Path, work: Callable[[Jobs], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(work(Jobs(JobIndex(tmp_path / "jobs.sqlite"))))


def test_what_was_looked_at_is_handed_over(tmp_path: Path, host: Host, book: Path) -> None:
    async def main(jobs: Jobs) -> None:
        plan = await jobs.plan(REQUEST, book)
        job = await jobs.submit(JobRequest("train.ipynb"), book, plan=plan.id)
        assert (job.id, job.source) == (plan.id, str(book))
        [(record, files)] = host.handed
        assert record.request == REQUEST, "what the body left out is the plan's"
        assert {f.path for f in plan.files} == set(files)
        for file in plan.files:
            if file.text is not None:
                assert files[file.path].decode() == file.text, file.path
        with pytest.raises(Conflict) as again:
            await jobs.submit(REQUEST, book, plan=plan.id)
        assert again.value.code == "plan_unknown"

    with_jobs(tmp_path, main)


def test_a_plan_has_an_age(tmp_path: Path, host: Host, book: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main(jobs: Jobs) -> None:
        plan = await jobs.plan(REQUEST, book)
        at = jobs._plans._previews[plan.id].record.created_at
        for later, left in ((3600.0, [plan.id]), (3601.0, [])):
            assert list(submittable(jobs._plans._previews, at + later)) == left
        monkeypatch.setattr(plan_store.time, "time", lambda: at + 3601.0)
        with pytest.raises(Conflict) as old:
            await jobs.submit(REQUEST, book, plan=plan.id)
        assert (old.value.code, host.handed) == ("plan_unknown", [])
        await jobs.submit(REQUEST, book, plan=(await jobs.plan(REQUEST, book)).id)

    with_jobs(tmp_path, main)


def test_a_network_interface_has_to_be_there(tmp_path: Path, host: Host, book: Path) -> None:
    async def main(jobs: Jobs) -> None:
        plan = await jobs.plan(replace(REQUEST, interface="ib9"), book)
        [found] = [f for f in plan.findings if f.code == "no_interface"]
        assert (found.severity, found.field) == ("problem", "interface")
        assert found.message == "This machine has no network interface ib9."
        assert found.fix.startswith("It has: ")
        there = socket.if_nameindex()[0][1]
        plan = await jobs.plan(replace(REQUEST, interface=there), book)
        assert "no_interface" not in [f.code for f in plan.findings]

    with_jobs(tmp_path, main)


def test_more_ranks_than_slots_share_them_and_the_check_says_so(
    tmp_path: Path, host: Host, book: Path
) -> None:
    async def main(jobs: Jobs) -> None:
        room = slot_count(await host.facts(Profile(name="local")))

        async def found(size: JobRequest) -> list[Finding]:
            return [f for f in (await jobs.plan(size, book)).findings if f.code == "shares_slots"]

        assert not await found(replace(REQUEST, ranks=room))
        [told] = await found(replace(REQUEST, ranks=room + 4))
        assert (told.severity, told.field) == ("warning", "ranks")
        assert told.message.startswith(f"{room + 4} ranks share the ")
        assert "It starts once" in told.fix
        [told] = await found(replace(REQUEST, ranks=None, nodes=1, ranks_per_node=room + 4))
        assert told.field == "ranks_per_node"

    with_jobs(tmp_path, main)


class Hosts(SshBackend):
    """Hosts of which only the last two have ib0; nothing is sent anywhere."""

    async def checks(self, profile: Profile, python: str) -> dict[str, Check]:
        def one(number: int) -> Check:
            has = [Interface("eth0", f"10.0.0.{number}", 24, 1000)]
            has += [Interface("ib0", f"10.1.0.{number}", 24, 100_000)] if number > 1 else []
            facts = NodeFacts("", "", cpus=4, gpus=2, memory_bytes=1 << 34)
            return Check(facts, "3.12.0", {"python": "3.12.0"}, interfaces=tuple(has))

        return {host: one(number) for number, host in enumerate(profile.ssh.hosts)}

    async def root(self, profile: Profile) -> str:
        return "/home/me/.dtrain-lab"

    def files(self, submission: Any) -> list[Place]:
        return [Place(LocalTransport(), (0,))]


def test_only_hosts_of_the_plan_need_the_network_interface(
    tmp_path: Path, host: Host, book: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosts = Hosts()
    monkeypatch.setattr(backends, "backend", lambda _: hosts)
    monkeypatch.setattr(ssh_backend, "_held", lambda *_: asyncio.sleep(0, 0))
    monkeypatch.setattr(ssh_backend.compatibility, "unfit", lambda *_: None)
    (tmp_path / "profiles" / "hosts.toml").write_text(
        'backend = "ssh"\n[ssh]\nhosts = ["me@gpu-0", "me@gpu-1", "me@gpu-2", "me@gpu-3"]\n'
    )

    async def main(jobs: Jobs) -> None:
        async def planned(interface: str, nodes: int) -> tuple[list[tuple[str, str]], list[Finding]]:
            asked = JobRequest(
                "train.ipynb", profile="hosts", nodes=nodes, ranks_per_node=1, interface=interface
            )
            plan, made = await jobs._plans.preview(asked, book, None, ask=False)
            used = [(node.name, node.address) for node in made.record.plan.nodes]
            return used, [f for f in plan.findings if f.code == "no_interface"]

        assert await planned("ib0", 1) == ([("gpu-2", "10.1.0.2")], [])
        assert await planned("ib0", 2) == ([("gpu-2", "10.1.0.2"), ("gpu-3", "10.1.0.3")], [])
        used, [found] = await planned("ib0", 3)
        assert [name for name, _ in used] == ["gpu-2", "gpu-3", "gpu-0"]
        assert (found.severity, found.field) == ("problem", "interface")
        assert found.message == "gpu-0 has no usable network interface ib0."
        assert found.fix.startswith("It has: eth0. Leave it out: ")
        _, [found] = await planned("ib9", 4)
        assert found.message == "gpu-0, gpu-1, gpu-2, gpu-3 have no usable network interface ib9."
        assert found.fix.startswith("They all have: eth0. Leave it out: ")

    with_jobs(tmp_path, main)


def test_all_that_is_wrong_with_a_request_is_told_at_once(tmp_path: Path, host: Host) -> None:
    cells = ["print(nowhere_defined)", "import torch.multiprocessing as mp\nmp.spawn(print, nprocs=7)"]
    file = write(tmp_path / "project" / "train.ipynb", cells)
    asked = JobRequest(
        "train.ipynb", ranks=9999, stage=("/nope/data",), retries=-1, after="nosuchjob", names=()
    )

    async def main(jobs: Jobs) -> None:
        with pytest.raises(BadRequest) as told:
            await jobs.plan(asked, file)
        assert told.value.details["field"] == "retries"
        also = [(one["code"], one["field"]) for one in told.value.details["also"]]
        problems = [
            ("no_job", "after"),
            ("bad_size", "ranks"),
            ("undefined_name", None),
            ("no_data", "stage"),
        ]
        assert also == [*problems, ("fixed_size", None)], (
            "the launcher's number is not compared with the profile's usual size, which nobody asked for"
        )
        assert (
            str(told.value).splitlines()[-1].startswith("Warning: cell [2], line 2: nprocs=7 is hard-coded")
        )
        with pytest.raises(BadSize) as size:
            await jobs.plan(replace(asked, retries=0, stage=(), after=None), file)
        assert [one["code"] for one in size.value.details["also"]] == ["undefined_name", "fixed_size"]
        fine = write(file.with_name("fine.ipynb"), ["x = 1"])
        with pytest.raises(BadSize) as alone:
            await jobs.plan(JobRequest("fine.ipynb", ranks=9999), fine)
        assert "also" not in alone.value.details

    with_jobs(tmp_path, main)


def test_a_plan_finds_that_the_job_to_wait_for_has_failed(tmp_path: Path, host: Host, book: Path) -> None:
    """Found by hand: "Ready to submit", and the submission was refused."""
    failed = replace(RECORD, directory=str(tmp_path / "bad"), name="bad", problem=("Slurm refuses.", ""))
    far = replace(
        RECORD, id="5678abcd", name="far", directory=str(tmp_path / "far"), system="another", host="elsewhere"
    )

    async def main(jobs: Jobs) -> None:
        for record in (failed, far):
            await jobs._index.put(record)
        for of in ("bad", failed.id):
            with pytest.raises(Conflict) as told:
                await jobs.plan(replace(REQUEST, after=of), book)
            assert (told.value.code, told.value.details["field"]) == ("after_failed", "after")
            with pytest.raises(Conflict) as refused:
                await jobs.submit(replace(REQUEST, after=of), book)
            assert str(refused.value) == str(told.value)
        [found] = problems((await jobs.plan(replace(REQUEST, after="far"), book)).findings)
        assert (found.field, found.message) == (
            "after",
            "A job can't wait for the job \"far\": they don't run in the same queue.",
        )
        assert host.handed == []

    with_jobs(tmp_path, main)


def test_the_command_names_the_job_to_wait_for_as_the_submission_does(
    tmp_path: Path, host: Host, book: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Found by a review: the previewed command had no dependency, or one on the name."""
    monkeypatch.setattr(host, "command", lambda record: f"runs after {record.request.after}")

    async def main(jobs: Jobs) -> None:
        first = await jobs.submit(replace(REQUEST, name="first"), book)
        record, _ = host.handed[-1]
        plan = await jobs.plan(replace(REQUEST, after="first"), book)
        assert plan.command == f"runs after {record.directory}"
        elsewhere = replace(await jobs._records.record(first.id), system="another", host="elsewhere")
        await jobs._index.put(elsewhere)
        refused = await jobs.plan(replace(REQUEST, after="first"), book)
        assert refused.command == "runs after None", "it can't wait, as the plan says"

    with_jobs(tmp_path, main)


def test_the_checks_of_a_form_ask_no_scheduler_anew_for_the_job_to_wait_for(
    tmp_path: Path, host: Host, book: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A form checks 0.4 s after each edit: only the submission is worth a query of its own."""
    asked: list[str] = []

    def finds(how: str) -> Callable[[Any], Coroutine[Any, Any, Handle]]:
        async def find(_: Any) -> Handle:
            asked.append(how)
            return Handle(RECORD.id, "here", job="77")

        return find

    async def runs(_: Any) -> Status:
        return Status("running")

    for name, value in (("find", finds("fresh")), ("find_recent", finds("recent")), ("status", runs)):
        monkeypatch.setattr(host, name, value)
    monkeypatch.setattr(LocalBackend, "traits", replace(LocalBackend.traits, schedules=True))
    first = replace(RECORD, directory=str(tmp_path / "first"), name="first")

    async def main(jobs: Jobs) -> None:
        await jobs._index.put(first)
        read: list[bool] = []
        states = jobs._states.read

        async def counted(record: JobRecord, *, fresh: bool = False) -> Any:
            read.append(fresh)
            return await states(record, fresh=fresh)

        monkeypatch.setattr(jobs._states, "read", counted)
        for checks in (1, 2, 3):
            plan = await jobs.plan(replace(REQUEST, after="first"), book)
            assert problems(plan.findings) == ()
            assert (asked, read) == (["recent"] * checks, [False] * checks)
        asked.clear()
        read.clear()
        await jobs.submit(replace(REQUEST, after="first"), book, plan=plan.id)
        assert (asked, read[0]) == (["fresh"], True)
        assert host.handed[-1][0].request.after == "77"

    with_jobs(tmp_path, main)


def test_a_job_says_for_which_one_it_waits_by_its_name(tmp_path: Path, host: Host, book: Path) -> None:
    """Found by hand: "Starting 2 ranks.", then "It waits for the job 9eae1ce1b5d0."."""

    async def main(jobs: Jobs) -> None:
        first = await jobs.submit(replace(REQUEST, name="long"), book)
        await jobs.submit(replace(REQUEST, name="next", after="long"), book)
        record, files = host.handed[-1]
        record = replace(record, handle=Handle(record.id, "here"))
        said = judged(record, read_folder_state(files, {}), Status("running"), record.created_at, LATE_S)
        assert said == (
            "queued",
            Reason("after", 'Waits for the job "long".', "Starts once that job has succeeded."),
        )
        waiting = derived(record, read_folder_state(files, {}), Status("running"), record.created_at)
        assert (waiting.state, waiting.summary.text) == ("queued", 'Waits for the job "long".')
        # another one of that name: the id says which
        newer = replace((await jobs._records.record(first.id)), id="5678abcd", created_at=time.time() + 1)
        await jobs._index.put(newer)
        await jobs.submit(replace(REQUEST, name="last", after=first.id), book)
        assert host.handed[-1][0].waits_for == f"long ({first.id})"

    with_jobs(tmp_path, main)


def test_a_cell_with_a_problem_is_not_counted_among_those_without(tmp_path: Path, host: Host) -> None:
    folder = tmp_path / "project"
    file = write(folder / "train.ipynb", ["x = 1", "y = = 2", "%distributed pull x\ny = (", "z = 3"])

    async def main(jobs: Jobs) -> None:
        plan = await jobs.plan(REQUEST, file)
        wrong = [(f.cell, f.message) for f in plan.findings if f.code == "syntax_error"]
        assert ("[2]", "SyntaxError: invalid syntax.") in wrong
        assert plan.cells == 2
        undefined = await jobs.plan(
            REQUEST, write(folder / "train.ipynb", ["x = 1", "y = x + lost", "z = 3"])
        )
        assert [(f.code, f.cell) for f in problems(undefined.findings)] == [("undefined_name", "[2]")]
        assert undefined.cells == 2

    with_jobs(tmp_path, main)


def test_a_job_knows_that_a_resumed_one_begins_again(tmp_path: Path, host: Host) -> None:
    saves = "import dtrain_lab as dt\ndt.checkpoint(1)"

    async def main(jobs: Jobs) -> None:
        async def planned(*cells: str) -> JobRecord:
            file = write(tmp_path / "project" / "train.ipynb", list(cells))
            return (await jobs.planned(REQUEST, file))[1].record

        record = await planned(saves)
        assert record.begins_again
        assert continued_record(record, "next", 3).begins_again
        assert continued_record(record, "next", 3).resumed_step is None
        assert continued_record(replace(record, begins_again=False), "next", 3).resumed_step == 3
        trial = replace(record, request=replace(record.request, sweep="s1"))
        assert continued_record(trial, "next", None, of_sweep=True).request.sweep == "s1"
        assert continued_record(trial, "next", None).request.sweep is None, (
            "what a user continues is no trial"
        )
        assert not (await planned(saves, "dt.latest_checkpoint()")).begins_again

    with_jobs(tmp_path, main)


def test_only_the_newest_plans_are_known(tmp_path: Path, host: Host, book: Path) -> None:
    async def main(jobs: Jobs) -> None:
        made = [(await jobs.plan(REQUEST, book)).id for _ in range(9)]
        assert list(jobs._plans._previews) == made[1:]

    with_jobs(tmp_path, main)


def test_who_types_packs_nothing_and_has_nobody_asked_twice(
    tmp_path: Path, host: Host, book: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed: list[Path] = []
    pack = packing.pack

    def counted(folder: Path, seen: Any = None) -> packing.Packed:
        packed.append(folder)
        return pack(folder, seen)

    monkeypatch.setattr(packing, "pack", counted)

    async def main(jobs: Jobs) -> None:
        for letters in ("n", "na", "name"):
            assert (await jobs.plan(replace(REQUEST, name=letters), book)).size is not None
        assert (host.asked, len(packed)) == (1, 1)
        (book.parent / "model.py").write_text("x = 22")
        plan = await jobs.plan(REQUEST, book)
        assert len(packed) == 2
        assert next(f.text for f in plan.files if f.path == "code/model.py") == "x = 22"
        await jobs.plan(REQUEST, book, ask=True)
        assert host.asked == 2, "a person wants to know"
        await jobs.submit(REQUEST, book)
        assert host.asked == 3, "what is free now, where nothing was looked at"

    with_jobs(tmp_path, main)


def test_a_change_since_the_plan_is_told(
    tmp_path: Path, host: Host, book: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    profile = tmp_path / "profiles" / "here.toml"
    profile.write_text('backend = "local"\n')
    request = replace(REQUEST, profile="here")

    def add() -> None:
        (book.parent / "new.py").touch()

    def save() -> None:
        write(book, ["print(2)"])

    def edit() -> None:
        profile.write_text('backend = "local"\nmonitor = false\n')

    async def main(jobs: Jobs) -> None:
        for change, named in ((save, "train.ipynb"), (add, "new.py"), (edit, 'the profile "here"')):
            plan = await jobs.plan(request, book)
            change()
            with pytest.raises(Conflict, match="changed after this plan was made") as told:
                await jobs.submit(request, book, plan=plan.id)
            assert (told.value.code, told.value.details) == ("plan_changed", {"changed": [named]})
        plan = await jobs.plan(request, book)
        with pytest.raises(Conflict, match="ranks changed"):
            await jobs.submit(replace(request, ranks=1), book, plan=plan.id)
        monkeypatch.setattr(policy, "current", lambda: Policy(ranks=1))
        with pytest.raises(BadSize, match="at most 1 rank;"):
            await jobs.submit(request, book, plan=plan.id)
        assert host.handed == []

    with_jobs(tmp_path, main)


def test_a_plan_that_was_refused_can_be_submitted_again(tmp_path: Path, host: Host, book: Path) -> None:
    async def main(jobs: Jobs) -> None:
        plan = await jobs.plan(REQUEST, book)
        host.refuses = True
        with pytest.raises(StartFailed):
            await jobs.submit(REQUEST, book, plan=plan.id)
        host.refuses = False
        assert (await jobs.submit(REQUEST, book, plan=plan.id)).id == plan.id

    with_jobs(tmp_path, main)


def test_a_host_that_does_not_answer_is_not_asked_at_each_key() -> None:
    asked: list[int] = []

    async def silent() -> int:
        asked.append(1)
        raise Unreachable("node1 can't be reached.", "")

    async def main() -> None:
        recent = AnswerCache()
        for _ in range(3):
            with pytest.raises(Unreachable):
                await recent.ask("facts", silent)
        assert len(asked) == 1
        recent.forget()
        with pytest.raises(Unreachable):
            await recent.ask("facts", silent)
        assert len(asked) == 2

    asyncio.run(main())


def test_two_who_submit_one_plan_make_one_job(tmp_path: Path, host: Host, book: Path) -> None:
    async def main(jobs: Jobs) -> None:
        plan = await jobs.plan(REQUEST, book)
        again = (jobs.submit(JobRequest("train.ipynb"), book, plan=plan.id) for _ in range(2))
        done = await asyncio.gather(*again, return_exceptions=True)
        assert sorted(type(one).__name__ for one in done) == ["Conflict", "Job"]
        assert len(host.handed) == 1

    with_jobs(tmp_path, main)


def test_a_plan_of_another_notebook_is_refused(tmp_path: Path, host: Host, book: Path) -> None:
    other = write(tmp_path / "project" / "other.ipynb", ["print(rank)"])

    async def main(jobs: Jobs) -> None:
        plan = await jobs.plan(REQUEST, book)
        with pytest.raises(Conflict, match="notebook changed"):
            await jobs.submit(JobRequest("other.ipynb"), other, plan=plan.id)
        assert not host.handed

    with_jobs(tmp_path, main)


def test_two_previews_at_once_wait_for_one_answer() -> None:
    asked = []

    async def slow() -> str:
        asked.append(1)
        await asyncio.sleep(0)
        return "facts"

    async def main() -> None:
        recent = AnswerCache()
        assert await asyncio.gather(*(recent.ask("facts", slow) for _ in range(3))) == ["facts"] * 3

    asyncio.run(main())
    assert len(asked) == 1


def test_the_framework_is_proposed_and_once_named_the_job_is_planned_for_it(
    tmp_path: Path, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The whole way of a plan; the environment is the only part that is not real, as it has no TensorFlow."""
    frameworks: list[str | None] = []

    async def check(python: str, named: str | None, *, jobs: bool, asked: object) -> None:
        frameworks.append(named)

    async def nothing_missing(python: str, names: tuple[str, ...]) -> list[str]:
        return []

    monkeypatch.setattr(environment, "check", check)
    monkeypatch.setattr(environment, "missing_modules", nothing_missing)
    cells = ["import tensorflow as tf\nstrategy = tf.distribute.MultiWorkerMirroredStrategy()", "print(rank)"]
    book = write(tmp_path / "project" / "train.ipynb", cells)

    async def main(jobs: Jobs) -> None:
        plan = await jobs.plan(REQUEST, book)
        [told] = [f for f in plan.findings if f.severity == "problem"]
        assert (told.code, told.cell, told.field, told.value) == (
            "framework",
            "[1]",
            "framework",
            "tensorflow",
        )
        with pytest.raises(BadNotebook, match="imports tensorflow"):
            await jobs.submit(REQUEST, book)
        named = replace(REQUEST, framework="tensorflow")
        plan = await jobs.plan(named, book)
        assert [f.severity for f in plan.findings] == ["note"], plan.findings
        assert "--framework tensorflow" in plan.submit
        await jobs.submit(named, book)
        [(record, files)] = host.handed
        assert record.framework == FrameworkPlan("tensorflow", "multi_worker_mirrored", ("worker", "worker"))
        assert b"torch" not in files["code/dtrain_main.py"]
        with pytest.raises(BadRequest, match='no framework "tensorfow"') as error:
            await jobs.plan(replace(REQUEST, framework="tensorfow"), book)
        assert "tensorflow" in error.value.hint
        assert set(frameworks) == {None, "tensorflow"}

    with_jobs(tmp_path, main)


def test_a_module_in_a_folder_on_the_path_is_none_of_the_environment(
    tmp_path: Path, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    async def missing(python: str, names: tuple[str, ...]) -> list[str]:
        asked.extend(names)
        return []

    monkeypatch.setattr(environment, "missing_modules", missing)
    (tmp_path / "project" / "lib").mkdir(parents=True)
    (tmp_path / "project" / "lib" / "inner.py").write_text("import torch")
    book = write(tmp_path / "project" / "train.ipynb", ["%cd lib", "import inner, sys, numpy"])

    async def main(jobs: Jobs) -> None:
        await jobs.plan(REQUEST, book)

    with_jobs(tmp_path, main)
    assert sorted(asked) == ["numpy", "sys"]


def test_a_main_beside_the_notebook_stays_the_projects(tmp_path: Path, host: Host) -> None:
    book = write(tmp_path / "project" / "train.ipynb", ["from main import A", "%run main.py"])
    (tmp_path / "project" / "main.py").write_text("A = 1")

    async def main(jobs: Jobs) -> None:
        await jobs.submit(REQUEST, book)
        [(_, files)] = host.handed
        assert files["code/main.py"] == b"A = 1"
        assert b"from main import A" in files["code/dtrain_main.py"]

    with_jobs(tmp_path, main)


def test_all_problems_of_a_refusal_are_named() -> None:
    said = "The job's environment has no {}."
    found = [Finding("problem", "x", said.format(n), f"Install {n}.", f"[{n}]", 1) for n in "abcde"]
    with pytest.raises(BadNotebook) as error:
        refuse((found[0], Finding("warning", "y", "Not told."), found[1]))
    assert str(error.value.message) == (
        "Cell [a], line 1: The job's environment has no a; also "
        "cell [b], line 1: The job's environment has no b."
    )
    with pytest.raises(BadNotebook) as error:
        refuse(tuple(found))
    assert error.value.message.endswith("no c. And 2 more.")
    lines = [f"ell [{n}], line 1: {said.format(n)} Install {n}." for n in "abcde"]
    assert str(error.value).splitlines() == [f"C{lines[0]}", *(f"Also: c{line}" for line in lines[1:])]
