"""Widgets of ranks: what the kernel says of them is what a kernel says of its own."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from typing import Any

import ipykernel.kernelbase
import pytest

from tests.integration.kernels import WITHIN_S, Notebook
from tests.waiting import wait_until

pytestmark = [pytest.mark.processes, pytest.mark.timeout(120)]
VIEW = "application/vnd.jupyter.widget-view+json"
COMM = ("comm_open", "comm_msg", "comm_close")
EVERY = """
import ipywidgets as w
made = {}
for name in sorted(dir(w)):
    kind = getattr(w, name)
    if not (isinstance(kind, type) and issubclass(kind, w.Widget)) or kind.__module__.endswith('widget'):
        continue
    needs = {
        'Image': dict(value=b'\\x89PNG'), 'Audio': dict(value=b'RIFF'), 'Video': dict(value=b'\\0\\1'),
        'Link': dict(source=(made.get('IntSlider'), 'value'), target=(made.get('IntText'), 'value')),
        'Tab': dict(children=[made.get('Button')], titles=['one']),
        'GridspecLayout': dict(n_rows=2, n_columns=2),
        'Select': dict(options=['a', 'b']), 'SelectionSlider': dict(options=['a', 'b']),
        'SelectionRangeSlider': dict(options=['a', 'b']), 'VBox': dict(children=[made.get('Button')]),
    }.get(name, {})
    if name in ('Link', 'DirectionalLink', 'interactive'):
        continue
    try:
        made[name] = kind(**needs)
    except TypeError:
        made[name] = None
links = w.jslink((made['IntSlider'], 'value'), (made['IntText'], 'value')), w.jsdlink(
    (made['IntSlider'], 'value'), (made['IntProgress'], 'value'))
made['IntSlider'].value = 42
made['Image'].value = b'other bytes'
made['Tab'].titles = ['two']
made['Dropdown'].options = [('x', 1), ('y', 2)]
made['Text'].close()
area = w.interactive(lambda x: x, x=3)
print(len(made), sorted(n for n, m in made.items() if m is None))"""


@pytest.fixture(scope="module")
def notebook() -> Iterator[Notebook]:
    notebook = Notebook()
    notebook.run("%load_ext dtrain_lab\n%distributed start --ranks 2 --name widgets")
    yield notebook
    notebook.close()


def answers(notebook: Notebook, asked: str) -> list[dict[str, Any]]:
    """All that answers a message, up to idle."""
    found = []
    while True:
        message = notebook.client.get_iopub_msg(timeout=WITHIN_S)
        if message["parent_header"].get("msg_id") == asked:
            found.append(message)
            if message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
                return found


def run(notebook: Notebook, code: str) -> list[dict[str, Any]]:
    asked = notebook.client.execute(code)
    found = answers(notebook, asked)
    assert [m["content"]["evalue"] for m in found if m["msg_type"] == "error"] == []
    return found


def say(notebook: Notebook, comm: str, data: Any, **more: Any) -> list[dict[str, Any]]:
    """Speak as a front end does; all answers."""
    message = notebook.client.session.msg("comm_msg", {"comm_id": comm, "data": data}, **more)
    notebook.client.shell_channel.send(message)
    return answers(notebook, message["header"]["msg_id"])


def click(notebook: Notebook, button: str) -> None:
    """Click a button; the answer may come after what a cell prints then."""
    content = {"comm_id": button, "data": {"method": "custom", "content": {"event": "click"}}}
    notebook.client.shell_channel.send(notebook.client.session.msg("comm_msg", content))


def move(notebook: Notebook, comm: str, **state: Any) -> list[dict[str, Any]]:
    return say(notebook, comm, {"method": "update", "state": state, "buffer_paths": []})


def comms(notebook: Notebook) -> dict[str, Any]:
    """Widgets that the kernel knows, as a page asks for them."""
    request = notebook.client.session.msg("comm_info_request", {"target_name": "jupyter.widget"})
    notebook.client.shell_channel.send(request)
    while True:
        reply = notebook.client.get_shell_msg(timeout=WITHIN_S)
        if reply["msg_type"] == "comm_info_reply":
            known: dict[str, Any] = reply["content"]["comms"]
            return known


def said(found: list[dict[str, Any]]) -> list[Any]:
    """What was said of comms, with numbers for their ids, which are chance, and for the message's."""
    ids = {found[0]["parent_header"]["msg_id"]: "the cell"}

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {plain(k): plain(v) for k, v in value.items()}
        if isinstance(value, list):
            return [plain(v) for v in value]
        if isinstance(value, str) and value.removeprefix("IPY_MODEL_") in ids:
            return ids[value.removeprefix("IPY_MODEL_")]
        return value

    told = []
    for message in found:
        if message["msg_type"] in COMM:
            ids.setdefault(message["content"]["comm_id"], f"comm {len(ids)}")
            buffers = [bytes(buffer) for buffer in message["buffers"]]
            told.append((message["msg_type"], plain(message["content"]), message["metadata"], buffers))
    return told


def plain_text(rows: list[str]) -> str:
    """Without colours."""
    return re.sub(r"\x1b\[[\d;]*m", "", "\n".join(rows))


def text_of(found: list[dict[str, Any]]) -> str:
    return "".join(m["content"]["text"] for m in found if m["msg_type"] == "stream")


def model(found: list[dict[str, Any]], name: str) -> str:
    return next(
        str(m["content"]["comm_id"])
        for m in found
        if m["msg_type"] == "comm_open" and m["content"]["data"]["state"].get("_model_name") == name
    )


def test_every_widget_is_told_as_a_kernel_tells_its_own(notebook: Notebook) -> None:
    plain = run(notebook, EVERY)
    ranks = run(notebook, f"%%distributed 1{EVERY}")
    count = int(text_of(plain).split()[0])
    assert count > 60, "every class of ipywidgets"
    assert text_of(ranks) == f"[1] {text_of(plain)}"
    ours, theirs = said(ranks), said(plain)
    assert len(ours) == len(theirs)
    for mine, usual in zip(ours, theirs, strict=True):
        assert mine == usual
    kinds = {kind for kind, *_ in theirs}
    assert kinds == set(COMM)
    assert any(buffers for *_, buffers in theirs)
    assert all(m == {"version": "2.1.0"} for kind, _, m, _ in ours if kind == "comm_open")


WIDGETS = """%%distributed
import ipywidgets as w
slider, label = w.IntSlider(), w.Label()
def moved(change):
    label.value = f"{change['new']} on {rank}"
    print('moved to', change['new'])
slider.observe(moved, 'value')
button, out = w.Button(), w.Output()
def pressed(_):
    with out:
        print('pressed')
        print('half', end='')
        1 / 0
button.on_click(pressed)
display(slider)"""


def of_rank(notebook: Notebook, rank: int, name: str) -> str:
    return notebook.run(f"%%distributed {rank}\nprint({name}.comm.comm_id)").stdout.split()[1]


def test_callbacks_run_on_the_rank_and_answer_the_message_that_called_them(notebook: Notebook) -> None:
    run(notebook, WIDGETS)
    label = of_rank(notebook, 1, "label")
    found = move(notebook, of_rank(notebook, 1, "slider"), value=7)
    told = [m["content"] for m in found if m["msg_type"] == "comm_msg"]
    assert [c["data"]["state"]["value"] for c in told if c["comm_id"] == label] == ["7 on 1"]
    assert text_of(found) == "[1] moved to 7\n"
    values = notebook.run("%%distributed\nprint(slider.value)").stdout.splitlines()
    assert sorted(values) == ["[0] 0", "[1] 7"]


def test_an_output_widget_takes_what_a_callback_prints_and_raises(notebook: Notebook) -> None:
    button, out = of_rank(notebook, 0, "button"), of_rank(notebook, 0, "out")
    found = say(notebook, button, {"method": "custom", "content": {"event": "click"}})
    kinds = [m["msg_type"] for m in found if m["msg_type"] != "status"]
    asked = found[0]["parent_header"]["msg_id"]
    windows = [
        m["content"]["data"]["state"]["msg_id"]
        for m in found
        if m["msg_type"] == "comm_msg" and m["content"]["comm_id"] == out
    ]
    assert windows == [asked, ""]
    assert kinds[0] == kinds[-1] == "comm_msg"
    assert text_of(found) == "pressed\nhalf"
    (error,) = [m["content"] for m in found if m["msg_type"] == "error"]
    assert error["ename"] == "ZeroDivisionError"
    assert "transient" not in error, "a front end would store it in the widget"
    # IPython 9 names the line of `with` for what leaves it, and IPython 8 the line that raised, in any kernel
    assert re.search(r"cell \[\d+\].*, line 1[03], in pressed", plain_text(error["traceback"]))


def test_output_widgets_of_several_ranks_take_their_own(notebook: Notebook) -> None:
    code = """%%distributed
import torch.distributed as dist
mine = w.Output()
print('before', end='')
with mine:
    print('of', rank)
    dist.barrier()
    display(rank)
    dist.barrier()
if rank: dist.barrier()
with w.Output():
    if rank == 0: print('beside'); dist.barrier()
print('after')"""
    found = run(notebook, code)
    inside: dict[str, str] = {}
    outside, now = "", ""
    for message in found:
        content = message["content"]
        if message["msg_type"] == "comm_msg" and "msg_id" in content["data"].get("state", {}):
            now = content["comm_id"] if content["data"]["state"]["msg_id"] else ""
        elif message["msg_type"] in ("stream", "display_data"):
            text = content.get("text") or content["data"]["text/plain"]
            if now:
                inside[now] = inside.get(now, "") + text
            else:
                outside += text
    outs = [of_rank(notebook, rank, "mine") for rank in range(2)]
    assert [inside[comm] for comm in outs] == ["of 0\n0", "of 1\n1"]
    assert sorted(inside.values())[0] == "beside\n"
    lines = outside.replace("[0-1]", "[0]\n[1]").split("\n")
    assert "of" not in outside.replace("before", "")
    assert sum("before" in line for line in lines) >= 1


def test_a_button_works_while_its_rank_runs_a_cell(notebook: Notebook) -> None:
    code = """%%distributed 1
stop = w.Button()
ended = []
stop.on_click(lambda _: (ended.append(1), print('stopped')))
print(stop.comm.comm_id, flush=True)
import time
while not ended: time.sleep(0.01)
print('left the loop')"""
    run(notebook, code.split("print(stop")[0])
    comm = of_rank(notebook, 1, "stop")
    notebook.run("%%distributed 1 --no-wait\n" + code.split("flush=True)")[1])
    found = say(notebook, comm, {"method": "custom", "content": {"event": "click"}})
    assert text_of(found) == "[1] stopped\n"
    assert "[1] left the loop" in notebook.run("%distributed wait").stdout


def test_a_click_before_a_cell_begins_does_not_wait_for_its_end(notebook: Notebook) -> None:
    setup = """%%distributed 1
import os, signal, time
stop, ended = w.Button(), []
stop.on_click(lambda _: (ended.append(1), print('stopped')))
signal.signal(signal.SIGUSR1, lambda *_: time.sleep(2))  # holds the cell's begin up
print(os.getpid())"""
    pid = int(notebook.run(setup).stdout.split()[1])
    comm = of_rank(notebook, 1, "stop")
    os.kill(pid, signal.SIGUSR1)
    loop = "until = time.time() + 20\nwhile not ended and time.time() < until: time.sleep(0.01)\nprint(ended)"
    notebook.run(f"%%distributed 1 --no-wait\n{loop}")
    found = say(notebook, comm, {"method": "custom", "content": {"event": "click"}})
    assert text_of(found) == "[1] stopped\n"
    assert "[1] [1]" in notebook.run("%distributed wait").stdout


def test_a_page_that_was_reloaded_finds_the_widgets(notebook: Notebook) -> None:
    run(notebook, "import ipywidgets; here = ipywidgets.Text()")
    session = notebook.client.session
    content = {"comm_id": "new-page", "target_name": "jupyter.widget.control", "data": {}}
    asked = session.msg("comm_open", content, metadata={"version": "1.0.0"})
    notebook.client.shell_channel.send(asked)
    told = answers(notebook, asked["header"]["msg_id"])
    assert [m["content"]["comm_id"] for m in told if m["msg_type"] == "comm_close"] == ["new-page"]
    known = comms(notebook)
    slider = of_rank(notebook, 1, "slider")
    assert slider in known
    (state,) = [
        m["content"]["data"]["state"]
        for m in say(notebook, slider, {"method": "request_state"})
        if m["msg_type"] == "comm_msg"
    ]
    assert state["value"] == 7
    assert state["_model_name"] == "IntSliderModel"
    notebook.run("%distributed restart 1")
    found = move(notebook, slider, value=8)
    assert "Rank 1 is gone, and its widgets with it." in text_of(found)
    known = comms(notebook)
    assert slider not in known
    assert known, "those of rank 0 and of the kernel"


@pytest.mark.skipif(not hasattr(ipykernel.kernelbase.Kernel, "shell_channel_thread_main"), reason="subshells")
def test_a_page_that_is_reloaded_while_a_cell_runs_finds_a_button_that_stops_it(notebook: Notebook) -> None:
    client = notebook.client
    run(notebook, "import ipywidgets; here = ipywidgets.Text()")
    setup = "import ipywidgets as w\nstop, closes, ended = w.Button(), w.Label(), []"
    run(notebook, f"%%distributed 0\n{setup}\nstop.on_click(lambda _: ended.append(1))")
    stop, closes = of_rank(notebook, 0, "stop"), of_rank(notebook, 0, "closes")
    loop = "closes.close()\nprint('begins', flush=True)\nimport time\nuntil = time.time() + 30\n"
    loop += "while not ended and time.time() < until: time.sleep(0.01)\nprint('stopped', ended)"
    cell = client.execute(f"%%distributed 0\n{loop}")
    wait_until(lambda: client.get_iopub_msg(timeout=WITHIN_S)["msg_type"] == "stream", WITHIN_S, "the cell")
    asked = client.kernel_info()
    while (reply := client.get_shell_msg(timeout=WITHIN_S))["parent_header"].get("msg_id") != asked:
        pass
    assert reply["msg_type"] == "kernel_info_reply"
    known = comms(notebook)
    assert stop in known
    assert closes not in known
    states = {}
    for comm in (*known, closes):  # the page waits for each
        told = say(notebook, comm, {"method": "request_state"})
        (states[comm],) = [m["content"]["data"]["state"] for m in told if m["msg_type"] == "comm_msg"]
    assert states[stop]["_model_name"] == "ButtonModel"
    assert states[closes]["_model_name"] == "LayoutModel", "one that shows nothing"
    assert "TextModel" in {state["_model_name"] for state in states.values()}, "the kernel's own, too"
    click(notebook, stop)
    assert "[0] stopped [1]" in text_of(answers(notebook, cell))


@pytest.mark.skipif(not hasattr(ipykernel.kernelbase.Kernel, "shell_channel_thread_main"), reason="subshells")
def test_a_page_that_is_loaded_while_a_cell_runs_is_told_all_that_an_output_widget_captures(
    notebook: Notebook,
) -> None:
    client = notebook.client
    setup = "import ipywidgets as w\nstop, box, ended = w.Button(), w.Output(), []"
    run(notebook, f"%%distributed\n{setup}\nstop.on_click(lambda _: ended.append(1))")
    loop = "import time\nuntil, i = time.time() + 60, 0\nwhile not ended and time.time() < until:\n"
    loop += "    with box: print('step', i)\n    i += 1; time.sleep(0.05)\nprint(i, 'steps')"
    boxes = {rank: of_rank(notebook, rank, "box") for rank in range(2)}
    stops = {rank: of_rank(notebook, rank, "stop") for rank in range(2)}
    cell = client.execute(f"%%distributed\n{loop}")
    wait_until(lambda: client.get_iopub_msg(timeout=WITHIN_S)["msg_type"] == "stream", WITHIN_S, "the cell")

    def told(found: list[dict[str, Any]], rank: int) -> list[str]:
        states = [
            message["content"]["data"]["state"]["outputs"]
            for message in found
            if message["msg_type"] == "comm_msg"
            and message["content"]["comm_id"] == boxes[rank]
            and "outputs" in message["content"]["data"].get("state", {})
        ]
        return ["".join(output["text"] for output in outputs) for outputs in states]

    for rank in range(2):
        first = told(say(notebook, boxes[rank], {"method": "request_state"}), rank)[-1]
        assert first.startswith("step 0\n")
    found = []
    while not all(told(found, rank) for rank in range(2)):
        found.append(client.get_iopub_msg(timeout=WITHIN_S))
    for rank in range(2):
        click(notebook, stops[rank])
    # those that answer the clicks may come among those of the cell
    while not (found[-1]["parent_header"].get("msg_id") == cell and found[-1]["msg_type"] == "status"):
        found.append(client.get_iopub_msg(timeout=WITHIN_S))
    counts = dict(re.findall(r"\[(\d)\] (\d+) steps", text_of(found).replace("[0-1]", "[0] 0\n[1]")))
    assert "1" in counts
    steps = "".join(f"step {i}\n" for i in range(int(counts["1"])))
    assert told(found, 1)[-1] == steps, "before the cell has ended"


def test_widgets_of_a_cell_that_nobody_waited_for(notebook: Notebook) -> None:
    code = "import ipywidgets as w\nlate = w.IntSlider(value=3)\n"
    code += "late.observe(lambda c: print(c['new']), 'value')"
    notebook.run(f"%%distributed 0 --no-wait\n{code}\ndisplay(late)")
    views = run(notebook, "%distributed output")
    assert [VIEW in m["content"]["data"] for m in views if m["msg_type"] == "display_data"] in ([], [False])
    found = run(notebook, "%distributed wait")
    assert model(found, "IntSliderModel")
    assert [VIEW in m["content"]["data"] for m in found if m["msg_type"] == "display_data"] == [True]
    assert text_of(move(notebook, model(found, "IntSliderModel"), value=4)) == "[0] 4\n"


def test_a_page_is_not_told_of_a_widget_that_a_later_cell_or_a_thread_has_closed(notebook: Notebook) -> None:
    run(
        notebook,
        "%%distributed 1\nimport threading\nimport ipywidgets as w\na, b, c = [w.Label() for _ in range(3)]",
    )
    stays, later, beside = (of_rank(notebook, 1, name) for name in "abc")
    assert {stays, later, beside} <= set(comms(notebook))
    run(notebook, "%%distributed 1\nb.close()")
    run(notebook, "%%distributed 1\nthread = threading.Thread(target=c.close)\nthread.start()\nthread.join()")
    wait_until(lambda: not {later, beside} & set(comms(notebook)), WITHIN_S, "the closed widgets to be gone")
    assert stays in comms(notebook)


@pytest.mark.skipif(not hasattr(ipykernel.kernelbase.Kernel, "shell_channel_thread_main"), reason="subshells")
def test_a_reload_of_the_extension_leaves_no_thread(notebook: Notebook) -> None:
    run(notebook, "%%distributed 0\nimport ipywidgets as w\nkept = w.Text()")
    comms(notebook)
    listed = "print(len(get_ipython().kernel.shell_channel_thread.manager.list_subshell()))"
    assert text_of(run(notebook, listed)) == "1\n"
    run(notebook, "%reload_ext dtrain_lab")
    wait_until(lambda: text_of(run(notebook, listed)) == "0\n", WITHIN_S, "the subshell's end")
