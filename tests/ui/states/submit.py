"""Picture d: the Submit form, ready, with problems, and with fields that can't be read."""

from __future__ import annotations

import re
from pathlib import Path

from msgspec.structs import replace

from dtrain_lab.wire.jobs.finding import Finding
from dtrain_lab.wire.jobs.job import Choice, JobPlan, JobRequest, JobSize, PlannedFile
from dtrain_lab.wire.jobs.quota import Budget, FreeSpace
from dtrain_lab.wire.site import Error
from tests.ui.states import jobs
from tests.ui.states.notebooks import LOOP, START, code, notebook
from tests.ui.states.stage import Stage
from tests.ui.states.state import VIEW, State
from tests.ui.states.worlds import GIB

FORM = f"{VIEW} .jp-DtrainJob-submit"
GOLDEN = (Path(__file__).parents[2] / "unit" / "golden" / "job_srun.sh").read_text()
"""A job file as the product writes it."""
SCRIPT = "# train.ipynb as a script\nimport dtrain_lab.rank.script as _script\n\n# %% [1]\n" + LOOP.replace(
    "%%distributed\n", ""
)
ASKED = {
    "--job-name": "dtrain-train",
    "--nodes": "4",
    "--ntasks-per-node": "8",
    "--gres": "gpu:8",
    "--account": "llm",
}


def _batch(time: str) -> PlannedFile:
    """The golden job file, with what this form asks for."""
    text = GOLDEN
    for option, value in {**ASKED, "--time": time}.items():
        text = re.sub(rf"^#SBATCH {option}=.*$", f"#SBATCH {option}={value}", text, flags=re.MULTILINE)
    return PlannedFile("job.sh", len(text), text)


DOCUMENT = notebook(code("lr = 3e-4\nepochs = 3", tags=["parameters"]), START, code(LOOP))
REQUEST = JobRequest(
    notebook="train.ipynb",
    profile="hpc-a100",
    partition="gpu",
    nodes=4,
    ranks_per_node=8,
    time="24:00:00",
    parameters={"lr": 3e-4, "epochs": 3},
    retries=2,
)
PLAN = JobPlan(
    files=(
        PlannedFile("code/dtrain_main.py", len(SCRIPT), SCRIPT),
        _batch("24:00:00"),
        PlannedFile("node.0.sh", 40, "#!/bin/sh\nexec python -m dtrain_lab.node.attached\n"),
        PlannedFile("src/model.py", 8123),
        PlannedFile("configs/sft.toml", 412),
    ),
    command="dtrain-lab submit train.ipynb --profile hpc-a100 --nodes 4 --ranks-per-node 8 --time 24:00:00 "
    "--param lr=3e-4 --param epochs=3",
    findings=(
        Finding(
            "note",
            "magic",
            "!nvidia-smi runs once a node, not once a rank.",
            "That is usually meant. Tag the cell skip-in-job to leave it out.",
            cell="[2]",
            line=1,
        ),
    ),
    size=JobSize(4, 8),
    changes="--- last job\n+++ this one\n@@ -1 +1 @@\n-lr = 1e-4\n+lr = 3e-4\n",
    gpu_hours=768.0,
    partitions=(Choice("gpu", 31, 8, "1-00:00:00"), Choice("gpu-short", 40, 8, "04:00:00")),
    environment="conda: /opt/envs/torch-2.13, as the profile says",
    cells=12,
    modules=9,
    room=FreeSpace("/home/ada/dtrain-lab/jobs", 900 * GIB, 120 * GIB, 50_000),
    budget=Budget("GPU", 4300.0, 10_000.0, "the project llm", 768.0),
)
WHOLE_TABS_IN_A_ROW = """() => {
    const tabs = [...document.querySelectorAll('.jp-DtrainJob-tabs [role=tab]')];
    const rows = new Set(tabs.map(tab => tab.offsetTop)).size;
    return tabs.length === 6 && rows === 1 && tabs.every(tab => tab.scrollWidth <= tab.clientWidth);
}"""
AT_ITS_LINE = """start => {
    const [mark] = document.querySelectorAll('.jp-DtrainJob-lineMark');
    const code = mark.parentElement.querySelector('pre');
    const at = code.textContent.split('\\n').findIndex(line => line.startsWith(start));
    const height = parseFloat(getComputedStyle(code).lineHeight);
    const top = code.getBoundingClientRect().top + at * height;
    const { top: marked, height: high } = mark.getBoundingClientRect();
    const [words] = mark.getElementsByTagName('b');
    const frame = code.closest('.jp-DtrainJob-code').getBoundingClientRect();
    const seen = words.getBoundingClientRect().right <= frame.right;
    return Math.abs(top - marked) < 2 && Math.abs(height - high) < 2 && seen;
}"""
"""What is wrong with a line of the job file lies on that line, and is in view."""
TIME = Finding(
    "problem",
    "time_limit",
    "36 h asked; partition gpu ends jobs at 24 h: this would never start.",
    "Ask for 24:00:00 at most.",
    field="time",
    value="24:00:00",
)
UNDEFINED = Finding(
    "problem",
    "undefined",
    "tokenizer is used but never defined.",
    "It exists in the running kernel, but no cell of the notebook defines it. A job starts empty.",
    cell="[3]",
    line=4,
)
LATE = Finding(
    "warning",
    "save",
    "No checkpoint is written: a job that is stopped begins anew.",
    "Save one with dt.save_checkpoint(model, optimizer, step).",
    cell="[3]",
    line=10,
)

TOO_LONG = replace(
    PLAN,
    files=(PLAN.files[0], _batch("36:00:00"), *PLAN.files[2:]),
    command=PLAN.command.replace("24:00:00", "36:00:00"),
    findings=(TIME, UNDEFINED, LATE, *PLAN.findings),
    gpu_hours=1152.0,
    budget=Budget("GPU", 4300.0, 10_000.0, "the project llm", 1152.0),
)


def _open(stage: Stage, request: JobRequest = REQUEST) -> None:
    stage.answers("GET", "jobs", (jobs.RUNNING,))
    stage.answers("GET", f"jobs/{jobs.RUNNING.id}/request", request)
    stage.notebook("train.ipynb", DOCUMENT)
    stage.command("dtrain-lab:submit-notebook", path="train.ipynb")
    stage.page.locator(FORM).wait_for()


def _clean(stage: Stage) -> None:
    stage.answers("POST", "jobs/plan", PLAN)
    _open(stage)
    stage.page.locator(FORM).get_by_text("Ready to submit").wait_for()
    stage.page.locator(FORM).get_by_text("Checked at").wait_for()
    stage.page.wait_for_function(WHOLE_TABS_IN_A_ROW)


def _problems(stage: Stage) -> None:
    stage.answers("POST", "jobs/plan", TOO_LONG)
    _open(stage, replace(REQUEST, time="36:00:00"))
    stage.page.locator(FORM).get_by_text("2 problems stop this job").wait_for()
    stage.page.locator(FORM).get_by_role("tab", name="Job file").click()
    stage.page.locator(f"{FORM} .jp-DtrainJob-lineMark").get_by_text(TIME.fix).wait_for()
    stage.page.wait_for_function(AT_ITS_LINE, arg="#SBATCH --time=")
    stage.page.mouse.move(0, 0)


def _fields(stage: Stage) -> None:
    stage.answers("POST", "jobs/plan", PLAN)
    _open(stage)
    stage.page.locator(FORM).get_by_text("Ready to submit").wait_for()
    message = "-1 nodes are asked for; a job has at least one."
    refused = Error("bad_size", message, "Ask for 1 to 40 nodes.", {"field": "nodes"})
    stage.answers("POST", "jobs/plan", refused, 400)
    stage.page.locator(f"{FORM} [data-field='nodes']").fill("-1")
    stage.page.locator(f"{FORM} .jp-DtrainJob-fieldError").first.wait_for()
    stage.page.locator(f"{FORM} h1").first.click()
    stage.page.mouse.move(0, 0)


FRAMEWORK = Finding(
    "problem",
    "framework",
    "This notebook imports tensorflow; its ranks would be started for PyTorch, and train apart.",
    'Submit it with --framework tensorflow, or set framework = "tensorflow" in the profile.',
    cell="[1]",
    line=1,
    field="framework",
    value="tensorflow",
)


def _framework(stage: Stage) -> None:
    """The check proposes another framework: its field is there then, with a button that chooses it."""
    stage.answers("POST", "jobs/plan", replace(PLAN, findings=(FRAMEWORK, *PLAN.findings)))
    _open(stage)
    stage.page.locator(f"{FORM} .jp-DtrainJob-fieldError").get_by_role("button").wait_for()
    stage.page.locator(f"{FORM} [data-field='framework']").scroll_into_view_if_needed()
    stage.page.mouse.move(0, 0)


STATES = (
    State("d-submit", _clean, (FORM,)),
    State("d-submit-problems", _problems, (FORM,), pinned=True, contrast=True),
    State("d-submit-fields", _fields, (FORM,)),
    State("d-submit-framework", _framework, (FORM,)),
)
