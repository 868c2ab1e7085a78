"""Picture g: what distributed cells put out, as it lies in a notebook on disk."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence

from PIL import Image, ImageDraw

from dtrain_lab.cells import errors as cell_errors
from dtrain_lab.cells.errors import failure_parts, joined, render_failure
from dtrain_lab.wire.cells import CellRecord, CellResult, Failure, RunningCell
from dtrain_lab.wire.kinds import CellState
from dtrain_lab.wire.stacks import Frame
from dtrain_lab.wire.summary import Summary
from tests.ui.states.notebooks import (
    Cell,
    code,
    display,
    failure,
    notebook,
    printed,
    ran,
    runs,
    stream,
)
from tests.ui.states.stage import Stage
from tests.ui.states.state import NOTEBOOK, State
from tests.ui.states.worlds import NOW, cluster_of, metrics_of, ranks_of, resting, wobble

OUTPUTS = (f"{NOTEBOOK} .jp-Notebook",)


def _figure(rank: int) -> str:
    """A histogram, as matplotlib would draw it, without its fonts."""
    picture = Image.new("RGB", (220, 44), "white")
    draw = ImageDraw.Draw(picture)
    for column in range(11):
        height = int(6 + 26 * wobble(rank, column))
        draw.rectangle((12 + column * 18, 40 - height, 26 + column * 18, 40), fill="#1976d2")
    held = io.BytesIO()
    picture.save(held, "PNG")
    return base64.b64encode(held.getvalue()).decode()


def _table(rank: int) -> str:
    rows = "".join(f"<tr><th>{n}</th><td>{rank * 100 + n}</td><td>{n / 7:.4f}</td></tr>" for n in range(3))
    return f'<table class="dataframe"><thead><tr><th></th><th>id</th><th>loss</th></tr></thead>{rows}</table>'


FRAMES = (
    Frame(
        "",
        4,
        "<module>",
        "mean = normalize(rows)",
        "[12]",
        ("rows = load_shard(dist.get_rank())", 'print(f"{len(rows):,} rows")'),
    ),
    Frame(
        "prep.py",
        31,
        "normalize",
        "    pad = max(lengths)",
    ),
)
FAILURES = (
    Failure(0, "interrupted", "KeyboardInterrupt", "", operation="broadcast"),
    Failure(2, "raised", "ValueError", "max() arg is an empty sequence", FRAMES),
    Failure(3, "interrupted", "KeyboardInterrupt", "", operation="broadcast"),
)
SAID = failure_parts(FAILURES, (0, 2, 3))
TRACEBACK = tuple(render_failure(FAILURES, joined(SAID)))
FAILED = CellResult("[12]", (0, 2, 3), FAILURES, joined(SAID), 0.9, traceback=TRACEBACK, said=SAID)

STOPPED = CellResult(
    "[18]",
    tuple(range(4)),
    tuple(Failure(rank, "stopped", "RankLost", cell_errors.STOPPED) for rank in range(4)),
    "The cluster was stopped.",
    281.0,
    traceback=("The cluster was stopped.",),
)
STOPS = code("%%distributed\ntrain(loader)", [stream("[0-3] step 0 loss 2.713\n"), failure(STOPPED)], 18)
REFUSED = code(
    "%%distributed\nfor x, y in loader\n    print(x.shape)",
    [
        {
            "output_type": "error",
            "ename": "BadCell",
            "evalue": "SyntaxError: expected ':'. The cell was not sent to any rank.",
            "traceback": [
                "\n\x1b[36m  cell [19], line 2\x1b[39m",
                "    for x, y in loader",
                "                      ^",
                "\x1b[31mSyntaxError\x1b[39m: expected ':'.",
                "The cell was not sent to any rank.",
            ],
        }
    ],
    19,
)

FIGURES = code(
    "%%distributed\nplot_lengths(rows)",
    [
        display(rank, {"image/png": _figure(rank), "text/plain": "<Figure size 400x300 with 1 Axes>"})
        for rank in range(4)
    ],
    11,
)
TABLES = code(
    "%%distributed 0-1\nframe.head(3)",
    [display(rank, {"text/html": _table(rank), "text/plain": "   id  loss"}) for rank in range(2)],
    12,
)
FAILS = code(
    "%%distributed 0,2-3\nrows = load_shard(dist.get_rank())\n"
    'print(f"{len(rows):,} rows")\nmean = normalize(rows)',
    [stream("[0,3] 24,000 rows\n[2] 0 rows\n"), failure(FAILED)],
    12,
)
TRAINS = code("%%distributed\nfor epoch in range(2):\n    train(tqdm(loader))")
TRAINED = (
    (2, "stderr", "UserWarning: dataset/part-0412.parquet has 3 empty rows, skipped\n"),
    *((rank, "stdout", f"epoch 0 loss {2.101 + rank / 38:.3f}\n") for rank in range(4)),
    *((rank, "stderr", "\r 64%|██████▍   | 160/250 [00:26<00:15,  6.1it/s]") for rank in range(3)),
    (3, "stderr", "\r 58%|█████▊    | 145/250 [00:26<00:19,  5.5it/s]"),
)
COLOURS = code(
    "%%distributed\nreport()",
    [
        stream(
            "[0-3] \x1b[32mpassed\x1b[0m 12, \x1b[31mfailed\x1b[0m 0\n"
            "[0] \x1b[1;34mrank 0 only\x1b[0m\n"
            + "[1] "
            + "/data/a-very-long-path-without-any-blank" * 8
            + "\n[2] "
            + "a long line of many words that has to wrap where the cell ends and not before " * 5
            + "\n[3] \n[3] indented\n[3]     by four\n"
        )
    ],
    15,
)
MANY = code(
    "%%distributed\nfor item in shard:\n    print(item, check(item))",
    [stream("".join(f"[{i % 4}] item {chr(97 + i % 26)}{i * 7919 % 10007}: ok\n" for i in range(2_400)))],
    16,
)
RESULTS = code(
    "%%distributed\nrank, device", [stream("".join(f"[{r}] ({r}, 'cuda:{r}')\n" for r in range(4)))], 17
)


def _record(
    stage: Stage,
    index: int,
    cell: int,
    state: CellState = "ended",
    ranks: Sequence[int] = range(4),
    seconds: float = 0.6,
    result: CellResult | None = None,
) -> CellRecord:
    """A run of this notebook; `index`: of its cell in it, `seconds`: how long the ranks have run it."""
    ended = NOW - 60 if state == "ended" else None
    return CellRecord(
        f"run-{index}",
        f"[{cell}]",
        tuple(ranks),
        state,
        1,
        str(stage.lab.work / "prep.ipynb"),
        f"cell-{index}",
        started_at=(NOW if ended is None else ended) - seconds,
        result=result,
        ended_at=ended,
    )


def _picture(stage: Stage) -> None:
    """A cell that trains, a failure, and figures: each as a notebook has it, and as its cluster knows it."""
    trains = _record(stage, 0, 13, "running", seconds=41)
    failed = _record(stage, 1, 12, ranks=(0, 2, 3), seconds=0.9, result=FAILED)
    plotted = _record(stage, 2, 11)
    stage.command("filebrowser:hide-main")
    runs(stage, "local-4", (trains, printed(trains, *TRAINED)), (failed, ()), (plotted, ()))
    document = notebook(TRAINS, ran(FAILS, failed), ran(FIGURES, plotted))
    stage.notebook("prep.ipynb", document)
    ranks = ranks_of(4)
    stage.hear(
        [
            cluster_of(
                "local-4",
                ranks,
                notebooks=(trains.notebook or "",),
                metrics=metrics_of(ranks),
                summary=Summary("training", {"total": 4}, "Training. All 4 ranks keep pace."),
                running=(RunningCell("[13]", trains.notebook, trains.ranks, NOW - 41, trains.cell_id),),
            )
        ]
    )
    notebook_ = stage.page.locator(NOTEBOOK)
    notebook_.get_by_text("Debug rank 2 here").wait_for(state="attached")
    notebook_.locator("progress").nth(1).wait_for(state="attached")
    stage.settle()


def _opens(name: str, *cells: Cell) -> State:
    def show(stage: Stage) -> None:
        known = [
            _record(stage, index, cell["execution_count"], ranks=range(2) if cell is TABLES else range(4))
            for index, cell in enumerate(cells)
        ]
        stage.command("filebrowser:hide-main")
        runs(stage, "local-4", *((record, ()) for record in known))
        stage.hear([cluster_of("local-4", resting(ranks_of(4)), notebooks=("prep.ipynb",))])
        stage.notebook("prep.ipynb", notebook(*map(ran, cells, known)))
        stage.page.locator(f"{NOTEBOOK} .jp-DtrainOutput-bar").nth(len(cells) - 1).wait_for(state="attached")
        stage.settle()

        if MANY in cells:
            left = stage.page.locator(f"{NOTEBOOK} .jp-DtrainOutput-left")
            left.evaluate("line => line.scrollIntoView({ block: 'center' })")
            left.get_by_role("button", name="Show more of these lines").wait_for()
            stage.settle()

    return State(f"g-{name}", show, OUTPUTS)


def _ends(stage: Stage) -> None:
    """A cell whose cluster somebody stopped, and one that was not sent: no record is left of either."""
    stage.command("filebrowser:hide-main")
    stage.hear([])
    stage.notebook("prep.ipynb", notebook(STOPS, REFUSED))
    stage.page.locator(f"{NOTEBOOK} .jp-DtrainOutput-bar").nth(1).wait_for(state="attached")
    stage.settle()


STATES = (
    State("g-output", _picture, OUTPUTS, pinned=True, contrast=True),
    _opens("output-colours", TABLES, COLOURS, RESULTS),
    _opens("output-many", MANY),
    State("g-output-ends", _ends, OUTPUTS),
)
