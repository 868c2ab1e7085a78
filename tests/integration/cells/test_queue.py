"""Cells that nobody waits for, queues, turns, and what a notebook asks about ranks' names."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any

import pytest

import dtrain_lab as dt
from dtrain_lab.services.connection import head_records
from tests.integration.kernels import Notebook, by_rank
from tests.waiting import wait_until

pytestmark = pytest.mark.processes


@pytest.fixture(scope="module")
def notebook() -> Iterator[Notebook]:
    notebook = Notebook()
    notebook.run("%load_ext dtrain_lab")
    ran = notebook.run("%distributed start --ranks 2 --name queue")
    assert ran.status == "ok", ran.error
    yield notebook
    notebook.close()
    # other tests of this process may have clusters of their own
    ended = "the kernel's cluster to end with it"
    wait_until(lambda: "queue" not in {record.name for record in head_records.living()}, 10, ended)


def test_a_cell_goes_on_by_itself_and_is_waited_for(notebook: Notebook) -> None:
    ran = notebook.run(
        "%%distributed --no-wait\nimport time\nprint('first')\n"
        "while not globals().get('go'):\n    time.sleep(0.02)\n    go = __import__('os').path.exists('GO')\n"
        "print('last', rank)".replace("GO", f"/tmp/dtrain-go-{id(notebook)}")
    )
    assert "was started in the background" in ran.stdout
    assert notebook.run("print('free')").stdout == "free\n"
    wait_until(lambda: "first" in notebook.run("%distributed output").stdout, 10, "its first line")
    assert "is running" in notebook.run("%distributed output").stdout
    open(f"/tmp/dtrain-go-{id(notebook)}", "w").close()
    ran = notebook.run("%distributed wait")
    assert ran.status == "ok", ran.error
    assert by_rank(ran.stdout) == {0: ["first", "last 0"], 1: ["first", "last 1"]}


def test_another_kernel_finds_the_cell_and_its_output(notebook: Notebook) -> None:
    notebook.run("%%distributed 1 --no-wait\nprint('kept for you')\n1 / 0")
    other = Notebook()
    try:
        other.run("%load_ext dtrain_lab")
        other.run("%distributed attach queue")
        ran = other.run("%distributed wait")
        assert (ran.status, by_rank(ran.stdout)) == ("error", {1: ["kept for you"]})
        assert "Rank 1 failed: ZeroDivisionError" in ran.error
    finally:
        other.close()
    assert "Rank 1 failed" in _ended(notebook)
    assert notebook.run("%distributed wait").status == "error"


def _ended(notebook: Notebook) -> str:
    """What is said below the output of a background cell that has failed; the page shows it in the bar."""
    return "".join(data["text/plain"] for data in notebook.run("%distributed output").data)


def test_cells_behind_one_that_fails_are_not_run(notebook: Notebook) -> None:
    notebook.run("%%distributed\nran = []")
    notebook.run("%%distributed --no-wait\nimport time\ntime.sleep(0.5)\nraise ValueError('first')")
    notebook.run("%%distributed --no-wait\nran.append(1)")
    assert "ValueError: first" in notebook.run("%distributed wait").error
    refused = notebook.run("%distributed wait").error
    assert re.search(r"This cell was not run\. Cell \[\d+\], queued before it, failed\.", refused)
    assert notebook.run("%%distributed 0\nprint(ran)").stdout == "[0] []\n"


def test_cells_behind_one_that_failed_are_waited_for_next(notebook: Notebook) -> None:
    notebook.run("%%distributed 1 --no-wait\n1 / 0")
    wait_until(lambda: "Rank 1 failed" in _ended(notebook), 10, "its end")
    notebook.run("%%distributed 0 --no-wait\nprint('second')")
    notebook.run("%%distributed 0 --no-wait\nprint('third')")
    assert "ZeroDivisionError" in notebook.run("%distributed wait").error
    assert by_rank(notebook.run("%distributed wait").stdout) == {0: ["second", "third"]}


def test_waiting_can_be_given_up_and_the_cell_goes_on(notebook: Notebook) -> None:
    cluster = next(c for c in dt.clusters() if c.name == "queue")
    notebook.run("%%distributed --no-wait\nimport time\ntime.sleep(600)")
    began = time.monotonic()
    ran = notebook.run("%distributed wait", interrupt_when=lambda: time.monotonic() > began + 0.5)
    assert "keeps running. To stop it: %distributed interrupt" in ran.stdout
    assert cluster.info()["ranks"][0]["state"] == "busy"
    notebook.run("%distributed interrupt")
    assert "were interrupted" in notebook.run("%distributed wait").error


def test_what_is_shown_of_a_cluster_has_the_cells_that_wait(notebook: Notebook) -> None:
    cluster = next(c for c in dt.clusters() if c.name == "queue")
    assert not cluster.info()["waiting"]
    notebook.run("%%distributed --no-wait\nimport time\ntime.sleep(600)")
    notebook.run("%%distributed 1 --no-wait\npass")
    (waiting,) = cluster.info()["waiting"]
    assert re.fullmatch(r"\[\d+\]", waiting["cell"])
    assert waiting["kind"] == "cell"
    notebook.run("%distributed interrupt")
    for _ in range(2):
        notebook.run("%distributed wait")
    assert not cluster.info()["waiting"]


def test_by_rank_gives_a_block_for_each(notebook: Notebook) -> None:
    ran = notebook.run("%%distributed --by-rank\nfor i in range(3): print(i)")
    assert ran.stdout == "[0] 0\n[0] 1\n[0] 2\n[1] 0\n[1] 1\n[1] 2\n"


def test_a_time_out_counts_and_is_told(notebook: Notebook) -> None:
    ran = notebook.run("%%distributed --timeout 0.5\nimport time\ntime.sleep(600)")
    assert "The cell took longer than 0.5 s." in ran.error


def test_a_subset_that_waits_for_the_others_is_ended_with_the_reason(notebook: Notebook) -> None:
    ran = notebook.run("%%distributed 0\nimport torch.distributed as dist\ndist.barrier()")
    assert "Rank 0 waits in barrier; rank 1 doesn't run this cell." in ran.error
    assert notebook.run("%%distributed\nimport torch.distributed as dist\ndist.barrier()").status == "ok"


def test_input_is_refused_in_words(notebook: Notebook) -> None:
    ran = notebook.run("%%distributed 0\ninput('name? ')")
    assert "input() can't ask from a rank." in ran.error
    assert "%distributed push NAME" in ran.error
    assert "questions.py" not in ran.error, "where it is refused helps nobody"


def test_names_of_ranks_are_completed_and_inspected(notebook: Notebook) -> None:
    notebook.run("%%distributed\nlearning_rate_of_ranks = 0.1")
    code = "%%distributed 0\nprint(learning_ra"
    notebook.client.complete(code, len(code))
    content = reply(notebook)
    assert content["matches"] == ["learning_rate_of_ranks"]
    assert code[content["cursor_start"] : content["cursor_end"]] == "learning_ra"
    code = "%%distributed\nlearning_rate_of_ranks"
    notebook.client.inspect(code, len(code))
    content = reply(notebook)
    assert content["found"]
    assert "float" in content["data"]["text/plain"]
    notebook.client.complete("impor", 5)
    assert "import" in reply(notebook)["matches"]


def reply(notebook: Notebook) -> dict[str, Any]:
    while True:
        message = notebook.client.get_shell_msg(timeout=20)
        if message["msg_type"] in ("complete_reply", "inspect_reply"):
            content: dict[str, Any] = message["content"]
            return content


def test_the_cluster_lists_its_cells(notebook: Notebook) -> None:
    notebook.run("%%distributed\nprint('listed')")
    cluster = next(c for c in dt.clusters() if c.name == "queue")
    record = cluster._portal.call(cluster.cells())[-1]
    assert (record.state, record.ranks, record.detached) == ("ended", (0, 1), False)
    assert record.result is not None
    assert record.result.sentence == ""
