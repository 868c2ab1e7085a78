"""What a notebook can show, from ranks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.integration.kernels import Notebook

pytestmark = pytest.mark.processes


@pytest.fixture(scope="module")
def notebook() -> Iterator[Notebook]:
    notebook = Notebook()
    notebook.run("%load_ext dtrain_lab\n%distributed start --ranks 2 --name rich")
    yield notebook
    notebook.close()


def messages(notebook: Notebook, code: str, more: int = 0) -> list[dict[str, Any]]:
    """All messages of a cell up to idle, and some after it."""
    asked = notebook.client.execute(code)
    found = []
    while True:
        message = notebook.client.get_iopub_msg(timeout=30)
        if message["parent_header"].get("msg_id") == asked:
            found.append(message)
            if message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
                break
    notebook.client.get_shell_msg(timeout=30)
    return found


def of_kind(found: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [m["content"] for m in found if m["msg_type"] == kind]


def test_figures_values_and_updates(notebook: Notebook) -> None:
    code = """%%distributed
import matplotlib.pyplot as plt
from IPython.display import HTML, display
plt.figure(figsize=(1, 1)); plt.plot([0, rank])
plt.show()
handle = display(HTML('<b>one</b>'), display_id=True)
handle.update(HTML('<b>two</b>'))"""
    found = messages(notebook, code)
    shown = of_kind(found, "display_data")
    assert sum("image/png" in c["data"] for c in shown) == 2
    updates = of_kind(found, "update_display_data")
    assert {c["data"]["text/html"] for c in updates} == {"<b>two</b>"}
    ids = {c["transient"]["display_id"] for c in updates}
    assert len(ids) == 2, "the ranks' ids must not collide"
    assert ids <= {c["transient"].get("display_id") for c in shown}


def test_clear_output_of_a_rank_takes_its_own_place_only(notebook: Notebook) -> None:
    code = """%%distributed
from IPython.display import HTML, clear_output, display
display(HTML(f'<i>{rank} first</i>'))
if rank == 1:
    clear_output(wait=True)
    display(HTML('<i>1 second</i>'))"""
    found = messages(notebook, code)
    assert of_kind(found, "clear_output") == []
    firsts = {c["data"].get("text/html"): c for c in of_kind(found, "display_data")}
    assert set(firsts) == {"<i>0 first</i>", "<i>1 first</i>"}
    (update,) = of_kind(found, "update_display_data")
    assert update["data"]["text/html"] == "<i>1 second</i>"
    place = firsts["<i>1 first</i>"]["transient"]["display_id"]
    assert update["transient"]["display_id"] == place


def test_progress_bars_of_ranks_have_an_area_of_their_own(notebook: Notebook) -> None:
    code = """%%distributed
import time
from tqdm import tqdm
for _ in tqdm(range(20 * (rank + 1)), desc='train'):
    time.sleep(0.02)"""
    found = messages(notebook, code)
    area = of_kind(found, "display_data")
    assert len(area) == 1
    rows = [c["metadata"]["dtrain"]["area"] for c in area + of_kind(found, "update_display_data")]
    assert max(len(r) for r in rows) == 2
    assert rows[-1] == []
    text = "".join(c["text"] for c in of_kind(found, "stream"))
    assert "[0] train: 100%" in text
    assert "[1] train: 100%" in text
    assert "\r" not in text


def test_widgets_speak_both_ways(notebook: Notebook) -> None:
    code = """%%distributed 1
import ipywidgets
slider = ipywidgets.IntSlider(value=3)
slider.observe(lambda change: print('moved to', change['new']), 'value')
display(slider)"""
    found = messages(notebook, code)
    opened = of_kind(found, "comm_open")
    slider = next(c for c in opened if c["data"]["state"].get("_model_name") == "IntSliderModel")
    views = [c["data"] for c in of_kind(found, "display_data")]
    wanted = "application/vnd.jupyter.widget-view+json"
    assert any(v.get(wanted, {}).get("model_id") == slider["comm_id"] for v in views)
    data = {"method": "update", "state": {"value": 7}, "buffer_paths": []}
    message = notebook.client.session.msg("comm_msg", {"comm_id": slider["comm_id"], "data": data})
    notebook.client.shell_channel.send(message)
    while True:
        got = notebook.client.get_iopub_msg(timeout=20)
        if got["msg_type"] == "stream":
            assert got["content"]["text"] == "[1] moved to 7\n"
            break
    assert notebook.run("%%distributed 1\nprint(slider.value)").stdout == "[1] 7\n"


@pytest.mark.parametrize("ranks", ["", " 1"])
def test_the_display_of_a_closed_widget_is_cleared(notebook: Notebook, ranks: str) -> None:
    code = f"""%%distributed{ranks}
import ipywidgets
kept, closed = ipywidgets.Label('kept'), ipywidgets.Label('closed')
display(kept); display(closed)"""
    wanted = "application/vnd.jupyter.widget-view+json"
    views = [c for c in of_kind(messages(notebook, code), "display_data") if wanted in c["data"]]
    places = {c["data"][wanted]["model_id"]: c["transient"]["display_id"] for c in views}
    found = messages(notebook, f"%%distributed{ranks}\nclosed.close()")
    gone = {c["comm_id"] for c in of_kind(found, "comm_close")} & set(places)
    assert len(gone) == len(places) / 2 > 0
    updates = of_kind(found, "update_display_data")
    assert {c["transient"]["display_id"] for c in updates} == {places[model] for model in gone}
    assert all(c["data"] == {"text/plain": ""} for c in updates)


def test_loggers_warnings_and_workers(notebook: Notebook) -> None:
    code = """%%distributed 0
import logging, warnings, torch
logging.warning('logged')
warnings.warn('warned')
class Data(torch.utils.data.Dataset):
    def __len__(self): return 2
    def __getitem__(self, i):
        print('worker', i, flush=True)
        return i
list(torch.utils.data.DataLoader(Data(), num_workers=1, multiprocessing_context='fork'))"""
    found = messages(notebook, code)
    text = {"stdout": "", "stderr": ""}
    for content in of_kind(found, "stream"):
        text[content["name"]] += content["text"]
    assert "logged" in text["stderr"]
    assert "UserWarning: warned" in text["stderr"]
    assert "[0] worker 0" in text["stdout"]
    assert "[0] worker 1" in text["stdout"]


def test_monitor_is_a_widget_that_shows_the_ranks(notebook: Notebook) -> None:
    opened = messages(notebook, "import dtrain_lab as dt\nview = dt.clusters()[0].monitor()\nview")
    wanted = "application/vnd.jupyter.widget-view+json"
    assert any(wanted in c["data"] for c in of_kind(opened, "execute_result"))
    assert "Ready. 2 ranks wait for a cell." in notebook.run("print(view._sentence.value)").stdout
    table = notebook.run("print(view._table.value)").stdout
    assert table.count("<tr>") == 3
    assert table.count("○ idle") == 2
    notebook.run(
        "%%distributed\nimport time, torch\nnet = torch.nn.Linear(4, 4)\n"
        "optimizer = torch.optim.SGD(net.parameters(), 0.1)\nfor _ in range(60):\n"
        "    net(torch.randn(8, 4)).sum().backward(); optimizer.step(); time.sleep(0.01)"
    )
    assert "samples/s" in notebook.run("print(view._metrics.value)").stdout
    assert "step" not in notebook.run("view.close()").error


CITES = """%%distributed 0
import inspect, logging, threading, traceback, warnings
def warns():
    warnings.warn('told')
warns()
logging.captureWarnings(True); warns(); logging.captureWarnings(False)
try:
    1 / 0
except ZeroDivisionError:
    traceback.print_exc()
    logging.exception('caught')
thread = threading.Thread(target=lambda: 1 / 0); thread.start(); thread.join()
print(inspect.getsource(warns))
x = 1 is 'a'"""


def number(notebook: Notebook) -> int:
    """Of the cell that runs next."""
    return int(notebook.run("print(len(In) - 1)").stdout) + 1


def test_warnings_and_tracebacks_cite_the_cell(notebook: Notebook) -> None:
    cell = f"cell [{number(notebook)}], line"
    ran = notebook.run(CITES)
    assert f"[0] {cell} 4: UserWarning: told\n[0]   warnings.warn('told')\n" in ran.stderr
    assert ran.stderr.count(f"{cell} 14: SyntaxWarning") == 1
    assert ran.stderr.count("SyntaxWarning") == 1
    assert ran.stderr.count(f"[0]   {cell} 8, in <module>\n[0]     1 / 0\n") == 2
    assert f"[0]   {cell} 12, in <lambda>\n" in ran.stderr
    assert "[0] Exception in thread" in ran.stderr
    assert "ipykernel_" not in ran.stderr  # files of cells
    assert "/cells/" not in ran.stderr
    assert "[0] def warns():\n[0]     warnings.warn('told')\n" in ran.stdout


def test_a_syntax_error_shows_its_line_once(notebook: Notebook) -> None:
    cell = number(notebook)
    ran = notebook.run("%%distributed\n\nx = 1\ny = (")
    assert re.sub(r"\x1b\[\d+m", "", ran.error).splitlines() == [
        f"  cell [{cell}], line 4",
        "    y = (",
        "        ^",
        "SyntaxError: '(' was never closed.",
        "The cell was not sent to any rank.",
    ]


@pytest.mark.parametrize(
    ("code", "rows"),
    [
        ("%%time\n\n1 / 0", ["cell [N], line 4", "----> 4 1 / 0"]),
        ("%%capture out\nprint(1)\n1 / 0", ["cell [N], line 4", "----> 4 1 / 0"]),
        ("%time 1 / 0", ["cell [N], line 2", "----> 2 %time 1 / 0"]),
        ("%nope", ["Ranks 0–1: UsageError: Line magic function `%nope` not found.", "----> 2 %nope"]),
        ("exec('a = (')", ["----> 2 exec('a = (')", "<string>, line 1", "a = (", "^"]),
        (
            "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise ValueError('x') from e",
            [
                "----> 5     raise ValueError('x') from e",
                "Caused by ZeroDivisionError: division by zero (cell [N], line 3)",
            ],
        ),
        ("raise ExceptionGroup('two', [ValueError(1), TypeError('t')])", ["ValueError: 1", "TypeError: t"]),
        ("import asyncio\nawait asyncio.sleep(0)\n1 / 0", ["cell [N], line 4", "----> 4 1 / 0"]),
    ],
)  # fmt: skip
def test_errors_show_the_users_lines(notebook: Notebook, code: str, rows: list[str]) -> None:
    cell = number(notebook)
    ran = notebook.run(f"%%distributed\n{code}")
    assert ran.status == "error"
    shown = [row.strip() for row in ran.error.splitlines()]
    wanted = [row.replace("[N]", f"[{cell}]") for row in rows]
    rest = iter(shown)
    assert all(row in rest for row in wanted), shown
    assert not any("interactiveshell.py" in row for row in shown)


def test_magics_of_the_notebook_around_a_cell_of_ranks(notebook: Notebook) -> None:
    cell = number(notebook)
    ran = notebook.run("%%time\n%%distributed 1\nprint('hi')\n1 / 0")
    assert f"cell [{cell}], line 4\n      3 print('hi')\n----> 4 1 / 0" in ran.error
    assert "Wall time" in ran.stdout
    ran = notebook.run("%%capture got\n%%distributed 1\nprint('hi'); display(5)")
    assert (ran.stdout, ran.data) == ("", [])
    assert notebook.run("print(repr(got.stdout), len(got.outputs))").stdout == "'[1] hi\\n' 1\n"


def test_a_display_that_fails_says_so(notebook: Notebook) -> None:
    code = """%%distributed 0
class R:
    def _repr_html_(self): raise ValueError('in repr')
    def __repr__(self): return 'R'
R()"""
    ran = notebook.run(code)
    assert (ran.status, ran.stdout) == ("ok", "[0] R\n")
    assert "[0] " in ran.error
    assert "in repr" in ran.error
