"""Picture e: the list of jobs, and jobs that run, failed and are done with their logs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from dtrain_lab.wire.cluster import Phase, Reason, World
from dtrain_lab.wire.jobs.job import Job, JobError, JobMetrics, JobSize, Logged
from dtrain_lab.wire.jobs.log import Log, LogBars, LogPiece
from dtrain_lab.wire.metrics.world import Metrics
from dtrain_lab.wire.site import Error
from dtrain_lab.wire.summary import Summary
from tests.ui.states.stage import Stage
from tests.ui.states.state import VIEW, State
from tests.ui.states.worlds import NOW, metrics_of, nodes_of, past, ranks_of

MINUTE = 60.0


def job_of(name: str, **changes: Any) -> Job:
    """A job of 4 x 8 ranks that has run for 2 h 14 min."""
    ranks = ranks_of(32, 8140, local=False)
    job = Job(
        id=name,
        name=name,
        backend="slurm",
        profile="hpc-a100",
        notebook="train.ipynb",
        size=JobSize(4, 8),
        world=World(32, 0),
        nodes=nodes_of(ranks),
        ranks=ranks,
        state="running",
        reason=None,
        summary=Summary("training", {"total": 32}, "Training. All 32 ranks keep pace."),
        metrics=metrics_of(ranks),
        scheduler_id="481516",
        exit_code=None,
        failed_rank=None,
        error=None,
        directory=f"/home/ada/dtrain-lab/jobs/{name}",
        parent=None,
        owner="ada",
        may=("cancel", "stacks", "duplicate"),
        progress=(Phase("cells", 7, 12, 0.0),),
        checkpoint_step=8000,
        created_at=NOW - 160 * MINUTE,
        started_at=NOW - 134 * MINUTE,
        ended_at=None,
        parameters={"lr": 3e-4, "epochs": 3},
    )
    return replace(job, **changes)


def ended(name: str, state: str, text: str, minutes: float, **changes: Any) -> Job:
    """A job that is over."""
    known: dict[str, Any] = {
        "state": state,
        "ranks": (),
        "metrics": Metrics(averaged=("loss",)),
        "progress": (),
        "summary": Summary(f"job_{state}", {}, text),
        "created_at": NOW - 201 * MINUTE,
        "started_at": NOW - 200 * MINUTE,
        "ended_at": NOW - (200 - minutes) * MINUTE,
        "exit_code": 0 if state == "succeeded" else 1,
        "may": ("resume", "duplicate", "delete"),
    }
    return job_of(name, **{**known, **changes})


RUNNING = job_of("sft-7b")
QUEUED = job_of(
    "sft-7b-lr2",
    state="queued",
    ranks=(),
    metrics=Metrics(),
    progress=(),
    started_at=None,
    summary=Summary(
        "job_queued", {}, "Waiting to start. Waits for 4 free nodes; 2 are free, 3 jobs are ahead."
    ),
    reason=Reason(
        "Resources", "Waits for 4 free nodes; 2 are free.", "", expected_start_at=NOW + 2400, ahead=3
    ),
    may=("cancel", "duplicate"),
)
NEVER = job_of(
    "sft-13b",
    state="queued",
    size=JobSize(16, 8),
    ranks=(),
    metrics=Metrics(),
    progress=(),
    started_at=None,
    summary=Summary(
        "job_queued", {}, "Can't start: your account may use 64 GPUs at once; this asks for 128."
    ),
    reason=Reason("QOSMaxGRES", "Your account may use 64 GPUs at once; this asks for 128.", "", final=True),
    may=("cancel", "duplicate"),
)
TRACEBACK = (
    "Traceback (most recent call last):",
    '  File "train.ipynb[9]", line 4, in train_step',
    "    loss = model(**batch, output_hidden_states=True).loss",
    '  File "/opt/envs/torch/lib/python3.12/site-packages/torch/nn/modules/module.py", line 1751, in _call',
    "    return forward_call(*args, **kwargs)",
    '  File "/home/ada/sft/src/model.py", line 212, in forward',
    "    h = torch.cat([h, self.mix(states)], dim=-1)",
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.12 GiB. GPU 3 has a total capacity of "
    "79.15 GiB of which 0.91 GiB is free.",
)
CLOSED = (
    "Traceback (most recent call last):",
    '  File "train.ipynb[9]", line 6, in train_step',
    "    loss.backward()",
    '  File "/opt/envs/torch/lib/python3.12/site-packages/torch/_tensor.py", line 647, in backward',
    "    torch.autograd.backward(",
)
"""What a rank writes before the error that its peer's end gives it."""
ERROR = JobError(
    rank=11,
    cell="[9]",
    cell_id="cell-8",
    line=4,
    type="OutOfMemoryError",
    message="CUDA out of memory. Tried to allocate 1.12 GiB.",
    traceback=TRACEBACK,
    time=NOW - 159 * MINUTE,
    node="gpu-02",
)
FAILED = ended(
    "sft-7b-fp32",
    "failed",
    "Failed after 41 min: rank 11 ran out of GPU memory.",
    41,
    error=ERROR,
    fails_again=True,
    failed_rank=11,
    checkpoint_step=1000,
    parent="sft-7b",
    resumed_step=500,
)
DONE = ended(
    "eval-mix",
    "succeeded",
    "Done after 18 min.",
    18,
    profile="local",
    backend="local",
    scheduler_id=None,
    size=JobSize(1, 8),
)
CANCELLED = ended(
    "sft-1b-test", "cancelled", "Cancelled after 6 min.", 6, profile="lab-ssh", size=JobSize(2, 4)
)
LONG = ended(
    "a-name-that-somebody-chose-in-order-to-tell-apart-what-cannot-be-told-apart-otherwise",
    "succeeded",
    "Done after 1 h 52 min.",
    112,
    profile="lab-ssh",
    size=JobSize(2, 4),
)
SHORT = ended(
    "try", "succeeded", "Done after 26 s.", 26 / 60, profile="local", backend="local", scheduler_id=None
)
ALL = (RUNNING, QUEUED, NEVER, FAILED, DONE, CANCELLED, LONG)
SIDEBAR = (RUNNING, QUEUED, FAILED)


def _steps(first: int, last: int, at: float) -> list[Log]:
    return [
        Log(at + step / 10, rank, f"step {step:,} loss {2.0 - step / 5000 + rank / 400:.3f}")
        for step in range(first, last, 10)
        for rank in range(32)
    ]


def _log(job: Job, query: str) -> LogPiece:
    """All of it at once, and nothing after it."""
    if "offset=all" in query:
        return LogPiece((), "all", end=job.ended_at is not None)
    began = job.started_at or NOW
    lines = [Log(began, rank, "loaded 96,000 examples") for rank in range(32)]
    lines += _steps(1100, 1200, began + 5)
    if job.error:
        at = job.error.time
        lines += [Log(at, 11, text, error=True) for text in TRACEBACK]
        lines += [
            Log(at + 0.4, rank, text, error=True)
            for rank in range(32)
            if rank != 11
            for text in (*CLOSED, f"RuntimeError: [gloo] Connection closed by peer [10.0.0.2]:{31000 + rank}")
        ]
    elif job.state == "running":
        lines.append(
            Log(began + 130, 3, "UserWarning: dataset/part-0412.parquet has 3 empty rows", error=True)
        )
    else:
        lines.append(Log(began + 130, 0, "accuracy 0.813 on 4,096 examples"))
    bars = _bars(began + 131) if job.state == "running" else ()
    return LogPiece(tuple(lines), "all", job.ended_at is not None, job.error, start=True, bars=bars)


def _bars(at: float) -> tuple[LogBars, ...]:
    """Nested bars: all ranks are in the same epoch, and not in the same batch."""
    epochs = "epochs:  33%|###3      | 1/3 [12:04<24:08, 724.10s/it]"
    batches = "batches:  {}%|####      | {}/500 [04:49<07:14, 1.45s/it]"
    return tuple(
        LogBars(at, rank, (epochs, batches.format(40, 200 + rank // 16)), error=True) for rank in range(32)
    )


def _list(stage: Stage) -> None:
    stage.answers("GET", "jobs", ALL)
    stage.hear([], ALL)
    stage.command("dtrain-lab:show-jobs")
    stage.page.locator(VIEW).get_by_text("sft-1b-test").wait_for()


def _no_match(stage: Stage) -> None:
    _list(stage)
    stage.page.locator(VIEW).get_by_label("Filter jobs").fill("zzz")
    stage.page.locator(VIEW).get_by_text("No job matches this filter.").wait_for()


def _none(stage: Stage) -> None:
    stage.command("dtrain-lab:show-jobs")
    stage.page.locator(VIEW).get_by_text("No jobs yet.").wait_for()


def _logged(job: Job) -> tuple[Logged, ...]:
    """What a job has logged within four seconds: a loss at each step, other values at some."""
    began = job.started_at or NOW
    calls = []
    for step in range(80):
        loss = 2.3 / (1 + step / 20) + 0.1 * (step % 3)
        values: dict[str, float | str] = {"loss": loss, "lr": 3e-4 - step * 3e-6}
        if step % 8 == 0:
            values |= {"accuracy": 0.1 + step / 100, "gradient_norm": 1.5 - step / 160}
        calls.append(Logged(began + 20 + step / 20, step, values))
    return tuple(calls)


def _view(name: str, job: Job, text: str, *, pinned: bool = False, logs: bool = False) -> State:
    def show(stage: Stage) -> None:
        stage.answers("GET", "jobs", ALL)
        stage.answers("GET", f"jobs/{job.id}", job)
        began = job.started_at or NOW
        history = tuple(
            replace(p, at=began + 30 * i, samples_per_s=4100 * min(1, 0.2 + i / 5))
            for i, p in enumerate(past(32))
        )
        logged = _logged(job) if logs else ()
        if logs:
            history = tuple(replace(p, at=began + 20 + 2 * i) for i, p in enumerate(history[:3]))
        stage.answers("GET", f"jobs/{job.id}/metrics", JobMetrics(history=history, logged=logged))
        stage.answers("GET", f"jobs/{job.id}/logs", lambda query: _log(job, query))
        stage.hear([], ALL)
        stage.command("dtrain-lab:open-job", id=job.id, name=job.name)
        stage.page.locator(f"{VIEW} .jp-DtrainJob-logRow").get_by_text(text).first.wait_for()
        stage.settle()

    return State(f"e-{name}", show, (VIEW,), pinned=pinned, contrast=pinned)


DONE_VIEW = _view("job-done", DONE, "loaded 96,000")


def _found(text: str, said: str) -> Callable[[Stage], None]:
    """A text was searched in the log of a job."""

    def show(stage: Stage) -> None:
        DONE_VIEW.show(stage)
        # asked only for what is not in the lines that the page has
        missing = Error("not_in_log", f'"{text}" was not found in the rest of the log.', "", {})
        stage.answers("GET", f"jobs/{DONE.id}/logs", missing, 404)
        find = stage.page.locator(VIEW).get_by_label("Find in the log")
        find.fill(text)
        find.press("Enter")
        stage.page.locator(f"{VIEW} .jp-DtrainJob-found").get_by_text(said).wait_for()
        stage.settle()

    return show


STATES = (
    State("e-jobs", _list, (VIEW,), pinned=True),
    State("e-jobs-no-match", _no_match, (VIEW,), focused=True),
    State("e-no-jobs", _none, (VIEW,)),
    State("e-job-found", _found("step 1,19", "1–32 of 32"), (VIEW,), focused=True),
    State("e-job-not-found", _found("qqq", "No match"), (VIEW,), focused=True),
    _view("job-running", RUNNING, "UserWarning"),
    _view("job-failed", FAILED, "Tried to allocate", pinned=True),
    DONE_VIEW,
    _view("job-short", SHORT, "loaded 96,000", logs=True),
)
