"""Which cell the change of advice belongs to, and where in it."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from dtrain_lab.head.metrics.advice_diffs import AdviceDiffs
from dtrain_lab.metrics.advice import advise
from dtrain_lab.wire import clients
from dtrain_lab.wire.stacks import Where
from tests.fakes.clusters import BOUND

LOOP = "model = DDP(net)\nfor x in loader:\n    model(x).backward()\n    optimizer.step()"


def test_the_change_is_that_of_the_cell_that_trains_whatever_ran_since() -> None:
    orders = [clients.Run("1", LOOP, "[1]"), clients.Run("2", "print(1)", "[2]")]
    given = {a.id: a for a in AdviceDiffs().given(advise(replace(BOUND, gpu=True)), orders)}
    assert "model.no_sync()" in given["accumulate"].diff
    assert given["accumulate"].values["way"] == "loop"
    assert "% 4 == group_size - 1" in given["accumulate"].diff
    assert given["bf16"].diff == "", "nothing shows where the optimizer is made"
    stream = {a.id: a for a in AdviceDiffs().given(advise(replace(BOUND, gpu=True, stream=True)), orders)}
    assert stream["accumulate"].diff == "", "its last batch is not known before it is read"


def test_the_change_is_where_the_optimizer_is_made() -> None:
    made = "model = DDP(net)\noptimizer = SGD(model.parameters(), lr=1)"
    changes = AdviceDiffs()
    orders = [clients.Run("1", made, "[1]"), clients.Run("2", LOOP.split("\n", 1)[1], "[2]")]
    given = {a.id: a for a in changes.given(advise(replace(BOUND, gpu=True)), orders)}
    assert "way" not in given["accumulate"].values, "dt.optimize"
    assert "+model, optimizer = dt.optimize(model, optimizer, gradient_accumulation_steps=4)" in (
        given["accumulate"].diff
    )
    assert 'gradient_compression="bf16")' in given["bf16"].diff
    assert changes.given((), orders) == ()


def test_what_a_cell_above_imports_is_not_imported_again() -> None:
    made = "model = DDP(net)\noptimizer = SGD(model.parameters(), lr=1)"
    imports = "%%distributed\nimport dtrain_lab as dt\n"

    def added(*codes: str, ranks: tuple[int, ...] | None = None) -> bool:
        orders = [clients.Run(c, c, "[1]", ranks if c == imports else None) for c in codes]
        given = {a.id: a for a in AdviceDiffs().given(advise(replace(BOUND, gpu=True)), orders)}
        return "+import dtrain_lab as dt" in given["bf16"].diff

    assert added(made)
    assert not added(imports, made)
    assert added(made, imports), "when all cells run again, it would come too late"
    assert added(imports, made, ranks=(0,)), "the other ranks don't have it"


def test_a_loop_puts_no_gradients_aside() -> None:
    on_cpu = advise(BOUND)
    promised = next(a for a in on_cpu if a.id == "accumulate")
    for code, gain in ((LOOP, 1 / 0.7), ("model = DDP(net)\noptimizer = SGD(model.parameters())", 1 / 0.745)):
        given = AdviceDiffs().given(on_cpu, [clients.Run("1", code, "[1]")])
        found = next(a for a in given if a.id == "accumulate")
        assert found.gain == pytest.approx(gain)
        assert found.gain_error <= promised.gain_error


def test_the_change_says_whose_it_is_where_cells_are_alike() -> None:
    alike = [clients.Run(i, LOOP, f"[{i}]", notebook=f"/n/{i}.ipynb", cell_id=f"id-{i}") for i in "12"]
    orders = [*alike, clients.Run("3", "print(1)", "[3]", notebook="/n/1.ipynb", cell_id="id-3")]
    for _ in range(2):  # computed, and known
        given = {a.id: a for a in AdviceDiffs().given(advise(replace(BOUND, gpu=True)), orders)}
        values = given["accumulate"].values
        assert (values["notebook"], values["cell_id"], values["every"]) == ("/n/2.ipynb", "id-2", 4)
        assert values["cell"] == "[2]", "its change names it"
        assert "cell_id" not in given["bf16"].values, "it has no diff"
    [plain] = [a for a in AdviceDiffs().given(advise(BOUND), [clients.Run("1", LOOP, "[1]")]) if a.diff]
    assert "notebook" not in plain.values, "a script's cell has none"


def test_the_change_is_for_what_a_cell_ran_last() -> None:
    made = "model = DDP(net)\noptimizer = SGD(model.parameters(), lr=1)"
    place = {"notebook": "/n/1.ipynb", "cell_id": "a"}
    orders = [clients.Run("1", made, "[1]", **place), clients.Run("2", "run(ddp)", "[2]", **place)]
    given = {a.id: a for a in AdviceDiffs().given(advise(replace(BOUND, gpu=True)), orders)}
    assert given["bf16"].diff == "", "these lines are no longer in the cell"


def test_the_change_is_where_training_read_its_data_whatever_ran_since() -> None:
    """As found by hand: the cell of a function that training had not called was run again, and was named."""
    function = "def train():\n    for x in DataLoader(data):\n        pass"
    loop = "loader = DataLoader(data)\nfor x in loader:\n    model(x).backward()"
    ran = (("a", function, "[1]"), ("b", loop, "[3]"), ("a", function, "[6]"), ("c", loop + "  # new", "[7]"))
    orders = [
        clients.Run(label, code, label, notebook="/n/1.ipynb", cell_id=cell) for cell, code, label in ran
    ]
    of = replace(BOUND, data_s=0.6 * (BOUND.step_s or 1), workers=0, cores=16.0)
    changes = AdviceDiffs()

    def place(code: str, label: str, count: int) -> tuple[str, str]:
        where = Where("/n/1.ipynb", label)
        given = changes.given(advise(of), orders[:count], code, where)
        workers = next(a for a in given if a.id == "workers")
        assert "+" in workers.diff
        return workers.values["cell"], workers.values["cell_id"]

    for count in (2, 3, 4):
        assert place(loop, "[3]", count) == ("[3]", "b")
    # a cell without a loader of its own: that of the function which it calls
    orders.insert(2, clients.Run("[4]", "train()", "[4]", notebook="/n/1.ipynb", cell_id="d"))
    assert place("train()", "[4]", 3) == ("[1]", "a")
    assert place("train()", "[4]", 5) == ("[6]", "a")
