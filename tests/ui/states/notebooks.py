"""Notebooks as they lie on disk, with outputs as our kernel saves them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import parse_qs

from dtrain_lab.cells.errors import own_stop
from dtrain_lab.wire.cells import CellRecord, CellResult, Output
from tests.ui.states.stage import Stage
from tests.ui.states.worlds import NOW

Cell = dict[str, Any]


def notebook(*cells: Cell) -> dict[str, Any]:
    """A notebook of these cells, which are numbered in their ids."""
    return {
        "cells": [{**cell, "id": f"cell-{index}"} for index, cell in enumerate(cells)],
        "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def text(source: str) -> Cell:
    """A cell of prose."""
    return {"cell_type": "markdown", "metadata": {}, "source": source}


def code(
    source: str, outputs: Sequence[Cell] = (), count: int | None = None, tags: Sequence[str] = ()
) -> Cell:
    """A cell of code with what it has put out."""
    return {
        "cell_type": "code",
        "metadata": {"tags": list(tags)} if tags else {},
        "source": source,
        "outputs": list(outputs),
        "execution_count": count,
    }


def stream(lines: str, name: str = "stdout") -> Cell:
    """Labelled lines."""
    return {"output_type": "stream", "name": name, "text": lines}


def display(rank: int, data: dict[str, Any]) -> Cell:
    """What one rank displays."""
    return {"output_type": "display_data", "data": data, "metadata": {"dtrain": {"rank": rank}}}


def failure(result: CellResult) -> Cell:
    """How a cell of ranks failed."""
    return {
        "output_type": "error",
        "ename": "RanksStopped" if own_stop(result.failures) else "RanksFailed",
        "evalue": result.sentence,
        "traceback": list(result.traceback),
    }


def ran(cell: Cell, record: CellRecord) -> Cell:
    """A cell with the run that its notebook has kept, as the page writes it."""
    state = "running" if record.state != "ended" else "failed" if record.result else "done"
    run = {"run": record.id, "state": state, "ranks": list(record.ranks), "started": record.started_at}
    ended = {} if record.ended_at is None else {"ended": record.ended_at}
    return {**cell, "metadata": {**cell["metadata"], "dtrain": {**run, **ended}}}


def runs(stage: Stage, cluster: str, *known: tuple[CellRecord, Sequence[Output]]) -> None:
    """A cluster knows these runs, with what each has put out so far."""

    def journal(query: str) -> list[Output]:
        asked = parse_qs(query)
        after = int(asked["after"][0])
        return [o for record, put in known if record.id in asked["cell"] for o in put if o.seq > after]

    stage.answers("GET", f"clusters/{cluster}/cells", [record for record, _ in known])
    stage.answers("GET", f"clusters/{cluster}/output", journal)


def printed(record: CellRecord, *pieces: tuple[int, str, str]) -> list[Output]:
    """Rank, stream and text of each piece as the journal has it: each in a second of its own."""
    began = record.started_at or 0
    return [
        Output(record.first_seq + i, began + i, record.id, (rank,), kind, text)
        for i, (rank, kind, text) in enumerate(pieces)
    ]


START = code(
    "%load_ext dtrain_lab\n%distributed start workstation --ranks 8 --name sft-8",
    [stream("sft-8 is ready: 8 ranks on 1 node, in 3.8 s.\n")],
    6,
)
LOOP = """%%distributed
model = DDP(build_model().to(device))
opt = torch.optim.AdamW(model.parameters(), lr=3e-4)
loader = make_loader("data/sft", batch_size=32)

for step, batch in enumerate(loader):
    loss = model(**batch).loss
    if torch.isnan(loss):
        continue
    loss.backward()
    opt.step(); opt.zero_grad()
    if step % 200 == 0:
        print(f"step {step} loss {loss.item():.3f}")"""


def trained(loop: Cell) -> dict[str, Any]:
    """The notebook with this cell that trains."""
    return notebook(
        text("# Fine-tune the 1.3B model\n\nEight ranks on this workstation, one per GPU."),
        START,
        loop,
        code("%distributed pull history 0\nplot(history)"),
    )


def trains(stage: Stage, cluster: str, *, ended: bool = False) -> None:
    """Open the notebook whose cell [7] trains on eight ranks for minutes; `ended`: until a minute ago."""
    record = CellRecord(
        "run-7",
        "[7]",
        tuple(range(8)),
        "ended" if ended else "running",
        1,
        str(stage.lab.work / "train.ipynb"),
        "cell-2",
        started_at=NOW - 372,
        ended_at=NOW - 60 if ended else None,
    )
    losses = [
        (rank, "stdout", f"step {step} loss {2.713 - step / 1373 + rank / 500:.3f}\n")
        for step in range(0, 1801, 200)  # the ranks are at step 1800
        for rank in range(8)
    ]
    loaded = [(rank, "stdout", "loaded 96,000 examples\n") for rank in range(8)]
    runs(stage, cluster, (record, printed(record, *loaded, *losses)))
    cell = code(LOOP, (), 7)
    stage.notebook("train.ipynb", trained(ran(cell, record) if ended else code(LOOP)))
