"""Picture j: the form of a sweep, sweeps that begin, run and have ended, and one in the list of jobs."""

from __future__ import annotations

import math
from typing import Any

from msgspec.structs import replace

from dtrain_lab.sweeps import reasons
from dtrain_lab.sweeps.importance import importance
from dtrain_lab.sweeps.view import shown
from dtrain_lab.wire.cluster import Reason
from dtrain_lab.wire.jobs.finding import Finding
from dtrain_lab.wire.jobs.job import JobSize, PlannedFile
from dtrain_lab.wire.site import Error
from dtrain_lab.wire.summary import Summary
from dtrain_lab.wire.sweeps import (
    Importance,
    ObjectiveValue,
    Rung,
    SweepPlan,
    SweepRecord,
    SweepRequest,
    TrialRecord,
    UnreadableSweep,
)
from tests.ui.states import jobs
from tests.ui.states.notebooks import code, notebook
from tests.ui.states.stage import Stage
from tests.ui.states.state import PANEL, VIEW, State
from tests.ui.states.worlds import NOW

FORM = f"{VIEW} .jp-DtrainJob-submit"
LOOP = "import dtrain_lab as dt\n\nfor step in range(epochs):\n    dt.log(step, loss=loss, accuracy=right)"
CELLS = notebook(
    code("lr = 0.01\nwidth = 64\noptimizer = 'adam'\nepochs = 3", tags=["parameters"]), code(LOOP)
)
TRIAL = (
    "# train.ipynb as a script\nimport dtrain_lab.rank.script as _script\n\n# %% [1]\n"
    "lr = 0.01\nwidth = 64\noptimizer = 'adam'\nepochs = 3\n\n# %% parameters\nlr = 0.001\nwidth = 32\n\n"
    f"# %% [2]\n{LOOP}\n"
)
JOB_FILE = "#!/bin/sh\nexec python -m dtrain_lab.node.attached\n"
PLAN = SweepPlan(
    files=(
        PlannedFile("code/dtrain_main.py", len(TRIAL), TRIAL),
        PlannedFile("job.sh", len(JOB_FILE), JOB_FILE),
    ),
    command="",
    findings=(),
    size=JobSize(1, 1),
    cells=2,
    modules=4,
    total=16,
    parallel=4,
)
REQUEST = SweepRequest(
    notebook="train.ipynb",
    space={"lr": "loguniform(1e-05, 0.1)", "width": [32, 64, 128, 256], "optimizer": ["adam", "sgd"]},
    objective="loss",
    pruner="asha",
    parameters={"epochs": 3},
    nodes=1,
    ranks_per_node=2,
)
RATES = (3e-3, 0.08, 2e-5, 4e-4, 0.02, 1.2e-3, 6e-3, 9e-5, 0.05, 2e-3, 8e-4, 4e-3, 1.5e-3, 1e-2, 5e-5, 2.6e-3)


def _trial(number: int) -> TrialRecord:
    """A trial that has ended well: the nearer its rate to 0.002, the better."""
    lr, width = RATES[number], (64, 128, 32, 256)[number % 4]
    value = 0.21 + 0.3 * abs(math.log10(lr / 0.002)) + 8 / width
    began = NOW - 3000 + 300 * (number // 4) + 20 * (number % 4)
    curve = tuple(ObjectiveValue(10 * n, value + 1.6 / (n + 1)) for n in range(12))
    return TrialRecord(
        number,
        "succeeded",
        {"lr": lr, "width": width, "optimizer": ("adam", "sgd")[number % 3 == 2]},
        value,
        110,
        f"job{number}",
        began,
        began + 280 + 3 * number,
        checkpoint_step=110,
        curve=curve,
        jobs=(f"job{number}",),
    )


def _sweep(trials: tuple[TrialRecord, ...], **changes: Any) -> Any:
    record = SweepRecord(
        "5eed", "search", REQUEST, "/x/train.ipynb", JobSize(1, 2), 16, 4, seed=3, owner="ada", host="here",
        system="boot", python="python", created_at=NOW - 3010, trials=trials, first_rung=4,
    )  # fmt: skip
    record = replace(record, **changes)
    folder = "/home/ada/.local/share/jupyter/dtrain-lab/sweeps/5eed"
    return shown(record, folder, NOW, importance(record))


ALL = tuple(_trial(number) for number in range(16))
TRIALS = (
    *ALL[:1],
    replace(
        ALL[1],
        state="pruned",
        step=12,
        ended_at=NOW - 2900,
        curve=ALL[1].curve[:3],
        reason=reasons.behind("loss", Rung(12, 1.61), 6),
    ),
    replace(
        ALL[2],
        state="failed",
        value=None,
        curve=(),
        reason=reasons.not_finite("loss", ObjectiveValue(110, math.nan)),
    ),
    *ALL[3:9],
    replace(ALL[9], resumes=1, resumed_step=40, jobs=("job9", "job9b"), job="job9b"),
    replace(ALL[10], state="running", step=60, ended_at=None, curve=ALL[10].curve[:6]),
    replace(ALL[11], state="resumed", resumes=1, step=40, ended_at=None, curve=ALL[11].curve[:4]),
    replace(
        ALL[12],
        state="waiting",
        value=None,
        step=None,
        started_at=None,
        ended_at=None,
        curve=(),
        checkpoint_step=None,
        reason=Summary(
            "slots",
            {},
            "Waits for 2 of 8 slots; 1 is free: cluster train holds 5, job search 10 holds 2.",
        ),
    ),
)
RUNNING = _sweep(TRIALS)
# fixed: it must not change a picture that another Optuna reckons otherwise
SHARES = Importance({"lr": 0.74, "width": 0.19, "optimizer": 0.07})
DONE = replace(_sweep(ALL, state="succeeded", ended_at=NOW - 60), importance=SHARES)
STOPPED = _sweep(
    (*ALL[:3], replace(ALL[3], state="stopped", ended_at=NOW - 60)), state="stopped", ended_at=NOW - 60
)
NO_OBJECTIVE = _sweep(
    (
        replace(
            ALL[0],
            state="failed",
            value=None,
            curve=(),
            reason=reasons.no_objective("loss", ["accuracy"]),
        ),
    ),
    state="failed",
    ended_at=NOW - 60,
    reason=Reason(
        "no_objective",
        'Trial 0: "loss" was never reported; the trial reported accuracy.',
        "Call dt.log(step, loss=…) in the notebook, or name another objective.",
        final=True,
    ),
)
BEGUN = _sweep((replace(TRIALS[10], number=0, value=None, step=None, curve=()),))


def _form(stage: Stage) -> None:
    stage.answers("POST", "sweeps/plan", PLAN)
    stage.notebook("train.ipynb", CELLS)
    stage.command("dtrain-lab:sweep-notebook", path="train.ipynb")
    form = stage.page.locator(FORM)
    form.get_by_text("No parameter varies yet.").first.wait_for()
    form.get_by_label("How lr varies").select_option("loguniform")
    form.get_by_label("How width varies").select_option("list")


def _filled(stage: Stage) -> None:
    _form(stage)
    form = stage.page.locator(FORM)
    form.get_by_text("16 trials × 1 rank").wait_for()
    form.locator("button[aria-disabled='false']", has_text="Start sweep").wait_for()
    stage.settle()
    form.get_by_text("Checking…").first.wait_for(state="detached")  # the check that the last choice began
    stage.page.mouse.move(0, 0)


def _refused(stage: Stage) -> None:
    _form(stage)
    form = stage.page.locator(FORM)
    form.get_by_label("Values of width, with commas").fill("32, wide")
    form.get_by_label("lr from").fill("0")
    form.get_by_label("Sampler").select_option("grid")
    form.get_by_text("must begin above 0").first.wait_for()
    form.locator("h1").first.click()
    stage.page.mouse.move(0, 0)


def _can_not_begin(stage: Stage) -> None:
    """What would keep the trials from starting, and from being compared, is told before anything starts."""
    _form(stage)
    large = Finding(
        "problem",
        "bad_size",
        "4,000 ranks are too many for this machine: it has 8 GPUs.",
        "Ask for at most 2048.",
        field="ranks_per_node",
    )
    unknown = Finding(
        "problem",
        "no_objective",
        'No trial would report "los": dt.log is called with loss, accuracy.',
        "Call dt.log(step, los=…) in the notebook, or optimize loss or accuracy.",
        "[2]",
        4,
        "objective",
    )
    stage.answers("POST", "sweeps/plan", replace(PLAN, findings=(large, unknown), parallel=None))
    form = stage.page.locator(FORM)
    form.get_by_label("Name of the objective").fill("los")
    form.get_by_text("2 problems stop this sweep").wait_for()
    form.locator("h1").first.click()
    stage.page.mouse.move(0, 0)


def _too_large(stage: Stage) -> None:
    _form(stage)
    message = "4,000 ranks are too many for this machine: it has 8 GPUs."
    refused = Error("bad_size", message, "Ask for at most 2048.", {"field": "ranks_per_node"})
    stage.answers("POST", "sweeps", refused, 400)
    form = stage.page.locator(FORM)
    form.locator("button[aria-disabled='false']", has_text="Start sweep").click()
    form.get_by_text(message).first.wait_for()
    form.locator("h1").first.click()
    stage.page.mouse.move(0, 0)


def _view(name: str, sweep: Any, text: str, *, pinned: bool = False) -> State:
    def show(stage: Stage) -> None:
        stage.answers("GET", "sweeps", (sweep,))
        stage.answers("GET", f"sweeps/{sweep.id}", sweep)
        stage.command("dtrain-lab:open-sweep", id=sweep.id, name=sweep.name)
        stage.page.locator(VIEW).get_by_text(text).first.wait_for()
        stage.settle()

    return State(f"j-{name}", show, (VIEW,), pinned=pinned, contrast=pinned)


DONE_VIEW = _view("sweep-done", DONE, "Open the best notebook", pinned=True)


def _brushed(stage: Stage) -> None:
    """Trials are chosen by keys alone."""
    DONE_VIEW.show(stage)
    view = stage.page.locator(VIEW)
    view.get_by_role("slider", name="lr, from").focus()
    for key in ("PageUp", "PageUp", "ArrowRight", "PageDown", "ArrowRight", "ArrowUp"):
        stage.page.keyboard.press(key)
    view.get_by_role("button", name="chosen. Show all").wait_for()
    stage.settle()


UNREADABLE = UnreadableSweep(
    "0ddba11",
    "",
    "/home/ada/sweeps/0ddba11",
    "The record of the sweep 0ddba11 is damaged: JSON is malformed.",
    "Restore /home/ada/sweeps/0ddba11/sweep.json, or delete /home/ada/sweeps/0ddba11: its jobs stay.",
)


def _in_jobs(stage: Stage) -> None:
    trials = tuple(
        replace(jobs.DONE, id=f"job{n}", name=f"search {n}", size=JobSize(1, 2), sweep="5eed")
        for n in range(3)
    )
    early = Summary("job_pruned", {}, "Stopped early by its sweep after 3.4 s.")
    ended_at = (trials[1].started_at or NOW) + 3.4
    pruned = replace(trials[1], state="cancelled", exit_code=143, ended_at=ended_at, summary=early)
    trials = (trials[0], pruned, trials[2])
    every = (jobs.RUNNING, *trials, jobs.FAILED)
    stage.answers("GET", "sweeps", (RUNNING, replace(DONE, id="f00d", name="first search")))
    stage.answers("GET", "sweeps/unreadable", (UNREADABLE,))
    stage.answers("GET", "jobs", every)
    stage.hear([], every)
    stage.command("dtrain-lab:show-jobs")
    stage.page.locator(VIEW).get_by_text("Sweep 0ddba11 can't be shown").wait_for()
    stage.page.locator(VIEW).get_by_role("button", name="Show 3 trial jobs").click()
    stage.page.locator(VIEW).get_by_role("button", name="search 2").wait_for()
    stage.page.locator(PANEL).get_by_role("button", name="first search").wait_for()
    stage.page.mouse.move(0, 0)


def _many() -> Any:
    """As many trials as are drawn at once."""
    every = tuple(
        replace(ALL[n % 16], number=n, value=1 + math.sin(n) / 2, ended_at=NOW - 2900 + 5 * n)
        for n in range(500)
    )
    return _sweep(every, total=500, state="succeeded", ended_at=NOW - 60)


STATES = (
    State("j-sweep-form", _filled, (FORM,), pinned=True),
    State("j-sweep-faults", _refused, (FORM,)),
    State("j-sweep-refused", _too_large, (FORM,)),
    State("j-sweep-unfit", _can_not_begin, (FORM,)),
    _view("sweep-running", RUNNING, "Stopped early", pinned=True),
    DONE_VIEW,
    _view("sweep-many", _many(), "500 of 500 trials done"),
    State("j-sweep-brushed", _brushed, (VIEW,), focused=True),
    _view("sweep-begun", BEGUN, "Each trial is a dot"),
    _view("sweep-stopped", STOPPED, "Resume"),
    _view("sweep-failed", NO_OBJECTIVE, "or name another objective"),
    State("j-sweeps-in-jobs", _in_jobs, (PANEL, VIEW)),
)
