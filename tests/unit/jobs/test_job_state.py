"""How a job stands, from its record, its folder and what the scheduler says."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from dtrain_lab.jobs.folder import read_folder_state
from dtrain_lab.jobs.job_errors import fails_again, first_error, killed_from_outside
from dtrain_lab.jobs.judgement import LATE_HERE_S, LATE_S, UNWATCHED, UNWATCHED_S
from dtrain_lab.jobs.state import UNSAID_COMMAND_S, is_final, job, with_metrics
from dtrain_lab.jobs.summary import running
from dtrain_lab.services.policy import backends
from dtrain_lab.text.units import duration
from dtrain_lab.wire.cluster import Cluster, Rank, Reason, World
from dtrain_lab.wire.jobs.folder import Doing, End, FolderState, HeadEnd, Live
from dtrain_lab.wire.jobs.job import EndCommand, Job, JobError, JobRequest
from dtrain_lab.wire.kinds import JobState
from dtrain_lab.wire.metrics.verdicts import HangPosition, Verdict
from dtrain_lab.wire.metrics.world import Metrics
from dtrain_lab.wire.plan import NodePlan
from dtrain_lab.wire.profile import Profile, Slurm
from dtrain_lab.wire.stacks import Where
from dtrain_lab.wire.status import Status
from dtrain_lab.wire.traits import Traits
from tests.unit.jobs.records import PLAN, RECORD, error

RANK = Rank(0, "a", 0, "cpu", 1, "busy")
LIVE = Live(200.0, (RANK,), (), Metrics(step_s=0.1, even=True))


def told(
    found: FolderState,
    status: Status | None,
    now: float = 201.0,
    *,
    limit_s: float | None = None,
    requeues: bool = False,
    **record: Any,
) -> Job:
    made = msgspec.structs.replace(RECORD, **record)
    return job(made, found, status, now, limit_s=limit_s, requeues=requeues)


WAITS = Reason("Resources", "The job waits for free nodes.")
RUNS, ENDED = Status("running"), Status("ended")


@pytest.mark.parametrize(
    ("found", "status", "record", "state"),
    [
        (FolderState(), Status("pending", WAITS), {}, "queued"),
        (FolderState(waiting=WAITS), RUNS, {}, "queued"),
        (FolderState(started_at=190.0), RUNS, {}, "starting"),
        (FolderState(started_at=190.0, live=LIVE), RUNS, {}, "running"),
        (FolderState(started_at=100.0), RUNS, {}, "running"),
        (FolderState(started_at=190.0, live=LIVE), RUNS, {"cancelled_at": 195.0}, "stopping"),
        (FolderState(started_at=190.0, exit=End(0, 200.0)), ENDED, {}, "succeeded"),
        (FolderState(started_at=190.0, exit=End(0, 200.0)), ENDED, {"cancelled_at": 199.0}, "succeeded"),
        (FolderState(started_at=190.0, exit=End(143, 200.0)), ENDED, {"cancelled_at": 199.0}, "cancelled"),
        (FolderState(started_at=190.0, exit=End(1, 200.0)), ENDED, {}, "failed"),
        (FolderState(started_at=150.0), ENDED, {}, "lost"),
        (FolderState(started_at=190.0), ENDED, {}, "running"),
        (FolderState(started_at=150.0, live=LIVE), ENDED, {}, "running"),
        (FolderState(started_at=150.0), Status("unknown", WAITS), {}, "running"),
        (FolderState(), None, {"handle": None, "created_at": 100.0, "cancelled_at": 101.0}, "cancelled"),
        (FolderState(), Status("unknown", WAITS), {"handle": None, "created_at": 100.0}, "planned"),
        (FolderState(started_at=190.0, errors=(error(0, 195.0),)), ENDED, {}, "failed"),
        (
            FolderState(started_at=190.0),
            Status("ended", Reason("timeout", "The job reached its time limit.")),
            {},
            "failed",
        ),
        (
            FolderState(started_at=190.0),
            Status("ended", Reason("cancelled", "The job was cancelled.")),
            {},
            "cancelled",
        ),
        (FolderState(), None, {"handle": None, "created_at": 200.0}, "planned"),
        (FolderState(), None, {"handle": None, "created_at": 100.0}, "lost"),
        (
            FolderState(exit=End(0, 200.0), started_at=1.0),
            None,
            {"handle": None, "created_at": 100.0},
            "succeeded",
        ),
        (FolderState(), None, {"problem": ("Slurm refuses.", "")}, "failed"),
        (FolderState(started_at=190.0), None, {}, "running"),
        (FolderState(started_at=190.0), None, {"cancelled_at": 195.0}, "stopping"),
    ],
)
def test_states(found: FolderState, status: Status | None, record: dict[str, Any], state: str) -> None:
    made = told(found, status, **record)
    assert made.state == state
    assert made.summary.text
    assert ("cancel" in made.may) == (state in ("queued", "starting", "running", "planned"))
    assert ("resume" in made.may) == (state in ("succeeded", "failed", "cancelled", "lost"))


SAID = b"2\nbash: -c: line 1: unexpected EOF while looking for matching `\"'\n"
ENDS = {"exit": b'{"code": 0, "at": 200.0}', "started": b"190.0"}


@pytest.mark.parametrize(
    ("files", "status", "code", "output"),
    [
        (
            ENDS | {"notified": SAID},
            ENDED,
            2,
            "bash: -c: line 1: unexpected EOF while looking for matching `\"'",
        ),
        (ENDS | {"notified": b"3\n"}, RUNS, 3, ""),
        (ENDS | {"notified": b"0\nsent\n"}, ENDED, 0, ""),
        (ENDS, RUNS, None, ""),
    ],
)
def test_a_job_stays_done_whose_command_for_its_end_fails(
    files: dict[str, bytes], status: Status, code: int | None, output: str
) -> None:
    request = JobRequest("n.ipynb", notify='echo "')
    made = told(read_folder_state(files), status, request=request)
    assert made.state == "succeeded"
    assert made.end_command == EndCommand('echo "', code, output)


def test_a_command_for_a_jobs_end_is_told_only_of_a_job_that_ran_one() -> None:
    request = JobRequest("n.ipynb", notify="mail")
    # of an earlier version, whose script did not say how it ended; or killed with the script
    assert told(read_folder_state(ENDS), ENDED, request=request).end_command is None
    assert told(FolderState(started_at=190.0, live=LIVE), RUNS, request=request).end_command is None
    assert told(read_folder_state(ENDS), RUNS).end_command is None


def test_a_job_is_not_final_while_it_is_unknown_whether_its_command_runs() -> None:
    request = JobRequest("n.ipynb", notify="mail")
    silent = told(read_folder_state(ENDS), Status("unknown", WAITS), request=request)
    assert (silent.state, silent.end_command, is_final(silent)) == ("succeeded", EndCommand("mail"), False)
    answers = told(read_folder_state(ENDS | {"notified": SAID}), Status("unknown", WAITS), request=request)
    assert answers.end_command is not None
    assert (answers.end_command.exit_code, is_final(answers)) == (2, True)
    assert is_final(told(read_folder_state(ENDS), ENDED, request=request))
    later = told(read_folder_state(ENDS), Status("unknown", WAITS), 200.0 + UNSAID_COMMAND_S, request=request)
    assert (later.end_command, is_final(later)) == (None, True), "a host that is gone is not asked for ever"


@pytest.mark.parametrize(
    ("status", "code", "state"),
    [
        (Status("pending", WAITS), 1, "queued"),
        (RUNS, 1, "running"),
        (Status("unknown", WAITS), 1, "running"),
        (ENDED, 1, "failed"),
        (RUNS, 0, "succeeded"),
    ],
)
def test_the_exit_file_of_a_run_that_is_requeued_ends_no_job(status: Status, code: int, state: str) -> None:
    found = FolderState(started_at=190.0, live=LIVE, exit=End(code, 200.0), preempted=code == 1)
    assert told(found, status, requeues=True).state == state
    cancelled = told(found, status, requeues=True, cancelled_at=195.0)
    assert cancelled.state == ("cancelled" if code else "succeeded")
    if code:
        assert told(found, status).state == "failed", "the scheduler runs no other job twice"


@pytest.mark.parametrize(("here", "after_s"), [(True, LATE_HERE_S), (False, LATE_S)])
def test_a_job_without_processes_and_exit_code_is_lost_after_a_while(here: bool, after_s: float) -> None:
    found, over = FolderState(started_at=100.0), Status("ended")
    waits = job(RECORD, found, over, 100 + after_s - 0.5, here=here)
    assert (waits.state, waits.reason and waits.reason.code) == ("running", "ending")
    assert waits.reason is not None
    assert f"{after_s:.0f} s after" in waits.reason.hint
    assert job(RECORD, found, over, 100 + after_s + 0.5, here=here).state == "lost"


def test_over_ssh_the_ends_of_all_hosts_count() -> None:
    two = (NodePlan("a", "", 0, 1, 0, 1), NodePlan("b", "", 1, 1, 0, 1))
    plan = msgspec.structs.replace(PLAN, backend="ssh", nodes=two, traits=Traits())
    done, runs, over = End(0, at=150.0), Status("running"), Status("ended")
    alone = FolderState(started_at=100.0, exit=done)
    later = told(alone, runs, now=900.0, plan=plan)
    assert (later.state, later.reason and later.reason.code, later.ended_at) == ("running", "ending", None)
    assert told(alone, over, now=160.0, plan=plan).state == "running", "its file is on the way"
    silent = told(alone, over, now=900.0, plan=plan)
    assert (silent.state, silent.reason and silent.reason.code) == ("failed", "silent_end")
    well = told(msgspec.structs.replace(alone, node_exits=(End(0, at=170.0),)), over, plan=plan)
    assert (well.state, well.ended_at) == ("succeeded", 170.0)
    badly = msgspec.structs.replace(alone, node_exits=(End(1, at=170.0),), errors=(error(1, 169.0),))
    assert "rank 1 failed in cell [2]" in told(badly, over, plan=plan).summary.text
    assert told(alone, over, now=900.0).state == "succeeded", "one script for all nodes"


def test_the_first_error_is_the_earliest_that_no_other_explains() -> None:
    closed = error(0, 1.0, "Connection closed by peer [127.0.0.1]:3", "RuntimeError")
    real, later = error(3, 2.0), error(2, 3.0)
    stopped = error(1, 0.5, "was ended with the others", "Stopped")
    assert first_error((closed, later, real, stopped)) == real
    assert first_error((closed, stopped)) == stopped
    assert first_error(()) is None
    made = told(FolderState(190.0, End(1, 200.0), errors=(closed, real)), ENDED)
    assert made.summary.text == "Failed after 10 s: rank 3 failed in cell [2], line 3: ValueError: boom."
    assert (made.failed_rank, made.fails_again) == (3, True)


def test_ranks_that_ended_with_their_script_have_not_failed() -> None:
    stopped = tuple(error(rank, 195.0, "was ended with the others", "Stopped") for rank in (0, 1))
    closed = error(0, 195.1, "Connection closed by peer [127.0.0.1]:3", "RuntimeError")
    for errors in (stopped, (closed, stopped[1])):
        found = FolderState(started_at=150.0, errors=errors)
        assert told(found, ENDED, now=171.0).state == "lost", "its script was killed: a sweep goes on with it"
        code = told(msgspec.structs.replace(found, exit=End(143, 196.0)), ENDED)
        assert code.summary.text == "Failed after 46 s: its ranks were ended from outside."
        assert (code.state, code.error, code.exit_code) == ("failed", None, 143)
    real = told(FolderState(started_at=150.0, errors=(*stopped, error(1, 196.0))), ENDED)
    assert real.summary.text.endswith("rank 1 failed in cell [2], line 3: ValueError: boom.")


@pytest.mark.parametrize(
    ("code", "why"),
    [
        (137, "the process that runs its ranks was killed by signal 9 (SIGKILL)."),
        (3, "it ended with code 3."),
    ],
)
def test_a_job_without_an_error_says_what_its_exit_code_means(code: int, why: str) -> None:
    found = FolderState(started_at=150.0, exit=End(code, 196.0))
    assert told(found, ENDED).summary.text == f"Failed after 46 s: {why}"


def test_figures_that_are_old_are_not_shown_as_of_now() -> None:
    fresh = told(FolderState(190.0, live=LIVE), RUNS, now=205.0)
    stale = told(FolderState(190.0, live=LIVE), RUNS, now=300.0)
    assert fresh.summary.code == "training"
    assert fresh.metrics.current
    assert (stale.metrics.current, stale.metrics.step_s) == (False, None)
    assert stale.summary.code == "job_running"


@pytest.mark.parametrize("live", [LIVE, None])
def test_a_job_whose_head_has_ended_says_that_nothing_watches_its_ranks(live: Live | None) -> None:
    found = FolderState(190.0, live=live)
    watched, unwatched = told(found, RUNS, now=280.0), told(found, RUNS, now=200.0 + UNWATCHED_S)
    assert (watched.state, watched.reason) == ("running", None)
    assert (unwatched.state, unwatched.reason) == ("running", UNWATCHED)
    stopping = told(found, RUNS, now=200.0 + UNWATCHED_S, cancelled_at=195.0)
    assert (stopping.state, stopping.reason) == ("stopping", None)


@pytest.mark.parametrize(("logged", "how"), [(False, "was killed"), (True, "has ended unexpectedly")])
def test_a_job_shows_nothing_of_a_killed_head_as_of_now(logged: bool, how: str) -> None:
    seen = Metrics(step_s=0.1, samples_per_s=320.0, memory_bytes=1 << 30, values={"loss": 2.0, "step": 9})
    rank = msgspec.structs.replace(RANK, state="in collective", doing="all_reduce", step=9, memory_bytes=1)
    live = Live(200.0, (rank,), (), seen)
    end = HeadEnd(logged, {"loss": 1.5}, 42)
    found = FolderState(190.0, live=live, head_end=end)
    made = told(found, RUNS, now=230.0)
    why = f"Nothing watches the ranks: the job's head {how}."
    assert made.state == "running"
    assert made.summary.text == f"Running on 2 ranks. {why}"
    assert made.reason is not None
    assert (made.reason.code, made.reason.message) == ("head_ended", why)
    assert ("head.log" in made.reason.hint) == logged
    assert made.may == ("cancel", "duplicate")
    assert not made.metrics.current
    assert made.metrics.samples_per_s is made.metrics.memory_bytes is None
    assert made.metrics.last is not None
    assert made.metrics.last.samples_per_s == 320.0
    # ranks log them by themselves
    assert made.metrics.values == {"loss": 1.5, "step": 42}
    assert made.ranks == (RANK,)
    # what its head has sent shortly before is not of now, either
    answer = Cluster(
        "c", "a", "p", "ready", None, made.summary, World(1, 0), (), LIVE.ranks, seen, (), (), "u", (), 190.0
    )
    assert with_metrics(made, answer) == made


def test_a_killed_head_does_not_hide_that_the_ranks_have_begun() -> None:
    end, doing = HeadEnd(False), Doing("[1]", "c", 1, 2, 195.0)
    assert told(FolderState(190.0, head_end=end), RUNS).state == "starting"
    assert told(FolderState(190.0, head_end=end, doing=doing), RUNS).state == "running"


def test_a_job_whose_processes_are_gone_does_not_run_on_its_ranks() -> None:
    text = told(FolderState(started_at=190.0, live=LIVE), ENDED).summary.text
    assert text == "The job's processes have ended without an exit code."


def test_a_job_whose_head_answers_is_watched_although_its_folder_shows_nothing_new() -> None:
    unwatched = told(FolderState(190.0, live=LIVE), RUNS, now=200.0 + UNWATCHED_S)
    summary, world = unwatched.summary, World(1, 0)
    answer = Cluster(
        "c", "a", "p", "ready", None, summary, world, (), LIVE.ranks, LIVE.metrics, (), (), "u", (), 190.0
    )
    assert with_metrics(unwatched, answer).reason is None
    assert unwatched.reason == UNWATCHED


def test_a_job_whose_ranks_stand_in_the_debugger_does_not_run() -> None:
    first, *others = LIVE.ranks
    live = msgspec.structs.replace(LIVE, ranks=(msgspec.structs.replace(first, state="paused"), *others))
    paused = told(FolderState(190.0, live=live), RUNS, now=205.0)
    assert (paused.state, paused.summary.code) == ("running", "paused")
    assert paused.summary.text == "Paused on 1 rank."


def test_when_its_time_is_over() -> None:
    assert told(FolderState(190.0, live=LIVE), RUNS, limit_s=1800.0).ends_at == 190.0 + 1800
    assert told(FolderState(), Status("pending", WAITS), limit_s=1800.0).ends_at is None
    profile = Profile(slurm=Slurm(time="00:30:00", options=("--requeue",)))
    slurm = backends.backend("slurm")
    assert (slurm.time_limit_s(profile), slurm.requeues(profile)) == (1800.0, True)
    local = backends.backend("local")
    assert (local.time_limit_s(profile), local.requeues(profile)) == (None, False), "it has no scheduler"


def test_files_that_cant_be_read_count_as_none() -> None:
    found = read_folder_state(
        {"exit": b"{", "started": b"soon", "error.0.json": b"[]", "live.json": b"", "attempt": b"2\n"}
    )
    assert found == FolderState(attempt=2)
    assert read_folder_state({"exit": b'{"code": 3, "at": 5.5}', "started": b"4.5\n"}) == FolderState(
        4.5, End(3, 5.5)
    )


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        *((0.04, "0.0 s"), (3.84, "3.8 s"), (9.5, "9.5 s"), (9.96, "10 s"), (41.2, "41 s")),
        *((372, "6 min 12 s"), (120, "2 min"), (8040, "2 h 14 min")),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("found", "status", "killed"),
    [
        (
            FolderState(150.0, End(1, 196.0), errors=(error(1, 195.0, "was killed by SIGKILL", "Killed"),)),
            ENDED,
            True,
        ),
        (FolderState(150.0, End(1, 196.0), errors=(error(1, 195.0),)), ENDED, False),
        (FolderState(150.0, End(143, 196.0)), ENDED, True),
        (FolderState(150.0, End(1, 196.0)), ENDED, False),
        (FolderState(150.0, End(1, 196.0), preempted=True), ENDED, True),
        (FolderState(150.0), Status("ended", Reason("node_fail", "Its node failed.")), True),
        (FolderState(150.0), Status("ended", Reason("timeout", "Its time was over.")), False),
    ],
)
def test_a_sweep_tells_jobs_that_were_killed_from_those_that_failed(
    found: FolderState, status: Status, killed: bool
) -> None:
    assert killed_from_outside(told(found, status)) is killed


@pytest.mark.parametrize(
    ("why", "code", "text"),
    [
        (None, "job_cancelled", "Cancelled after 3.0 s."),
        ("prune", "job_pruned", "Stopped early by its sweep after 3.0 s."),
        ("stop", "job_stopped", "Stopped with its sweep after 3.0 s."),
    ],
)
def test_a_job_that_its_sweep_has_ended_says_so(why: Any, code: str, text: str) -> None:
    made = told(FolderState(190.0, End(143, 193.0)), ENDED, cancelled_at=192.0, cancelled_for=why)
    assert (made.state, made.summary.code, made.summary.text) == ("cancelled", code, text)


@pytest.mark.parametrize(
    ("code", "text", "said"),
    [
        (
            "stuck",
            "Rank 1 is stuck. 1 rank waits for it.",
            "Rank 1 is stuck in cell [3], line 9. 1 rank waits for it.",
        ),
        (
            "computing",
            "Rank 1 is still computing. 1 rank waits for it.",
            "Rank 1 is still computing. 1 rank waits for it. Rank 1 is in cell [3], line 9.",
        ),
    ],
)
def test_a_job_says_where_it_is_stuck(code: str, text: str, said: str) -> None:
    """Found by hand: neither list, nor view, nor `job show` said the cell and the line."""
    at = HangPosition((1,), blamed=True, where=Where("n.ipynb", "[3]", line=9))
    waits = HangPosition((0,), blamed=False, operation="all_reduce", where=Where("n.ipynb", "[2]", line=4))
    verdict = Verdict("v", "stuck", code, {}, text, (1,), (0,), standings=(at, waits))
    assert running({}, 2, Metrics(verdicts=(verdict,))).text == said
    nowhere = msgspec.structs.replace(at, where=None)
    unknown = msgspec.structs.replace(verdict, standings=(nowhere, waits))
    assert running({}, 2, Metrics(verdicts=(unknown,))).text == text


@pytest.mark.parametrize(
    ("state", "what", "why", "again"),
    [
        ("failed", error(0, 1.0, "'b'", "KeyError"), None, True),
        ("failed", error(0, 1.0, "'b'", "KeyError"), "failed", True),
        ("failed", error(0, 1.0, "'b'", "KeyError"), "NonZeroExitCode", True),
        ("failed", error(0, 1.0, "'b'", "KeyError"), "preempted", False),
        ("failed", error(0, 1.0, "'b'", "KeyError"), "timeout", False),
        ("failed", error(0, 1.0, "was killed by SIGKILL", "Killed"), None, False),
        ("failed", error(0, 1.0, "ended with code 3", "Ended"), None, False),
        ("failed", error(0, 1.0, "Connection closed by peer [::1]:3", "RuntimeError"), None, False),
        ("failed", None, None, False),
        ("cancelled", error(0, 1.0, "'b'", "KeyError"), None, False),
        ("lost", None, None, False),
    ],
)
def test_only_a_job_whose_code_raised_fails_again(
    state: JobState, what: JobError | None, why: str | None, again: bool
) -> None:
    assert fails_again(state, what, None if why is None else Reason(why, "It ended.")) is again
