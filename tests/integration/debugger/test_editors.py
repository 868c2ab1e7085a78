"""Editors debug clusters and jobs: VS Code's own test client, and what no editor can break."""

from __future__ import annotations

import json
import subprocess
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import dtrain_lab as dt
from dtrain_lab.api import debug_target
from dtrain_lab.api.portal import Portal
from dtrain_lab.cli.adapter.stdio import vscode_entry
from dtrain_lab.services.debugger.editor import EditorSession
from tests.books import LOOP, STEP, write
from tests.dap import Editor
from tests.integration.debugger.cells import RIGHT, STEPS, Running
from tests.integration.debugger.job_debugging import in_loop
from tests.waiting import wait_until

ROOT = Path(__file__).parents[3]
pytestmark = [pytest.mark.processes, pytest.mark.timeout(120), pytest.mark.usefixtures("tidy")]
ENDLESS = """ended = False
while not ended:
    total = steps.train(rank, 1)
    n += 1"""


@pytest.fixture(scope="module")
def imports() -> str:
    return "import steps\nn = 0"


class VsCode:
    """VS Code's test client at one of its scenarios, under Node."""

    def __init__(self, scenario: str, **given: Any) -> None:
        command = ["node", "tests/dap/vscode.cjs", scenario, json.dumps(given)]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, stderr=pipe, text=True)

    def meets(self, what: str) -> None:
        """Wait until it is ready for something."""
        assert self._process.stdout is not None
        said = self._process.stdout.readline().strip()
        assert said == what, self._process.communicate()

    def goes_on(self, what: str) -> None:
        """That is done."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{what}\n")
        self._process.stdin.flush()

    def passes(self) -> None:
        """Wait for its end."""
        out, err = self._process.communicate(timeout=60)
        assert (self._process.returncode, out.strip()) == (0, "passed"), err


def test_vs_codes_client_steps_all_ranks_of_a_cluster(cluster: dt.Cluster, module: Path) -> None:
    client = VsCode("cluster", entry=vscode_entry(cluster.name, None), file=str(module))
    client.meets("run")
    cell = Running(cluster, "print(steps.train(rank))")
    client.goes_on("run")
    client.meets("wait")
    result = cell.end()
    client.goes_on("wait")
    client.passes()
    assert result.stdout == RIGHT
    assert cluster.info()["state"] == "ready"


def test_vs_codes_client_pauses_a_cell_reads_its_text_and_stops_in_it(cluster: dt.Cluster) -> None:
    client = VsCode("pause", entry=vscode_entry(cluster.name, None))
    client.meets("run")
    cell = Running(cluster, ENDLESS)
    wait_until(lambda: cluster.info()["running"], 20, "the cell to run")
    client.goes_on("run")
    client.passes()
    assert cell.end().ok


def test_vs_codes_client_debugs_a_running_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    stop = tmp_path / "stop"
    (tmp_path / "helper.py").write_text("def twice(x):\n    return x * 2\n")
    ended = f"""from helper import twice
def ended():
    flag = torch.tensor(float(os.path.exists({str(stop)!r})))
    dist.all_reduce(flag)
    return bool(flag)"""
    book = write(tmp_path / "loop.ipynb", [STEP, ended, LOOP.replace("i += 1", "i = twice(i + 1) // 2")])
    with tempfile.TemporaryDirectory(prefix="dtl") as runtime:
        monkeypatch.setenv("DTRAIN_LAB_RUNTIME_DIR", runtime)
        job = dt.submit(book, nodes=1, ranks_per_node=2)
        try:
            wait_until(lambda: job.state == "running", 60, "the job to run")
            wait_until(partial(in_loop, job), 60, "the loop")
            VsCode("job", entry=vscode_entry(None, job.id), file=str(tmp_path / "helper.py")).passes()
            assert job.state == "running", "it goes on"
            stop.touch()
            assert job.wait(60) == "succeeded", job.logs()
        finally:
            job.cancel()
            job.wait(60)


def test_what_goes_wrong_is_an_answer_with_a_sentence(cluster: dt.Cluster, module: Path) -> None:
    with Editor("nobody") as editor:
        assert "Send attach first" in editor.ask("next", threadId=1001)["message"]
        assert editor.attach()["message"].startswith('There is no cluster and no job "nobody".')
        assert '"request": "attach"' in editor.ask("launch")["message"]
        assert editor.ask("disconnect")["success"]
        assert editor.process.wait(20) == 0
    with Editor(cluster.name) as editor:
        with cluster.debug():
            assert "A terminal is debugging these ranks." in editor.attach()["message"]
        assert editor.attach()["success"]
        assert "attached already" in editor.ask("attach")["message"]
        points = [{"line": 6, "condition": "rank ="}, {"line": 7}]
        set_ = editor.ask("setBreakpoints", source={"path": str(module)}, breakpoints=points)
        wrong, good = set_["body"]["breakpoints"]
        assert (wrong["verified"], good["verified"]) == (False, True)
        assert "condition can't be read" in wrong["message"]
        missing = editor.ask("setBreakpoints", source={"path": "/no/such.py"}, breakpoints=[{"line": 1}])
        assert missing["body"]["breakpoints"][0]["message"].startswith("There is no file /no/such.py on ")
        book = editor.ask("setBreakpoints", source={"path": "/a/b.ipynb"}, breakpoints=[{"line": 1}])
        assert "loaded sources" in book["body"]["breakpoints"][0]["message"]
        assert "No rank is paused" in editor.ask("next", threadId=1001)["message"]
        assert editor.ask("setBreakpoints")["message"] == "setBreakpoints: its arguments must have source."
        assert editor.ask("evaluate", expression="rank * 2")["body"]["result"].splitlines()[1:] == [
            "rank 0: 0",
            "rank 1: 2",
        ]


def test_a_file_that_only_the_ranks_have_is_shown_as_their_source(
    cluster: dt.Cluster, module: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on other hosts: the session is told that this machine has no such file."""
    monkeypatch.setattr("dtrain_lab.services.debugger.editor_sources.is_here", lambda _: False)
    portal, said = Portal.get(), []

    async def find(arguments: dict[str, Any]) -> debug_target.Target:
        return await debug_target.find(portal, arguments["cluster"], None)

    session = EditorSession(find, said.append)

    def ask(command: str, **arguments: Any) -> dict[str, Any]:
        portal.call(session.serve({"seq": 1, "command": command, "arguments": arguments}))
        answer: dict[str, Any] = [m for m in said if m["type"] == "response"][-1]
        assert answer["success"], answer
        body: dict[str, Any] = answer["body"]
        return body

    ask("initialize")
    ask("attach", cluster=cluster.name)
    try:
        ask("setBreakpoints", source={"path": str(module)}, breakpoints=[{"line": 7}])
        cell = Running(cluster, "print(steps.train(rank))")
        wait_until(lambda: sum(m.get("event") == "stopped" for m in said) == 2, 20, "both to stop")
        source = ask("stackTrace", threadId=1002)["stackFrames"][0]["source"]
        assert source["sourceReference"] > 0
        text = ask("source", source=source, sourceReference=source["sourceReference"])
        assert text["content"] == STEPS
        ask("disconnect")
        assert cell.end().stdout == RIGHT
    finally:
        portal.call(session.close())


def test_what_is_no_protocol_ends_in_one_line_on_stderr() -> None:
    command = ["dtrain-lab", "debug", "--stdio"]
    done = subprocess.run(
        command, input="hello\r\n\r\n", capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(
        "dtrain-lab: This is not a message of the debug adapter protocol: b'hello'."
    )


@pytest.mark.parametrize("how", ["closed", "killed"])
def test_ranks_run_on_when_the_editor_ends_while_they_stand(
    cluster: dt.Cluster, module: Path, how: str
) -> None:
    with Editor(cluster.name) as editor:
        assert editor.attach()["success"]
        editor.ask("setBreakpoints", source={"path": str(module)}, breakpoints=[{"line": 7}])
        cell = Running(cluster, "print(steps.train(rank))")
        editor.event("stopped")
        editor.event("stopped")
        if how == "killed":
            editor.process.kill()
    assert cell.end().stdout == RIGHT


def test_after_an_interrupt_and_a_restart_its_breakpoints_are_there_again(
    cluster: dt.Cluster, module: Path
) -> None:
    with Editor(cluster.name) as editor:
        assert editor.attach()["success"]
        for _ in range(2):
            editor.event("thread")
        editor.ask("setBreakpoints", source={"path": str(module)}, breakpoints=[{"line": 7}])
        cell = Running(cluster, "steps.train(rank)")
        editor.event("stopped")
        editor.event("stopped")
        cluster.interrupt()
        cell.end()
        for _ in range(2):
            assert editor.event("thread")["reason"] == "started"
        cell = Running(cluster, "print(steps.train(rank))")
        assert {editor.event("stopped")["threadId"] for _ in range(2)} == {1001, 1002}
        editor.ask("setBreakpoints", source={"path": str(module)}, breakpoints=[])
        assert editor.ask("continue", threadId=1001)["body"]["allThreadsContinued"]
        assert cell.end().stdout == RIGHT
        cluster.restart([1], source=0)
        assert editor.event("thread") == {"reason": "exited", "threadId": 1002}
        assert editor.event("thread") == {"reason": "started", "threadId": 1002}


def test_the_end_of_the_cluster_ends_the_session() -> None:
    with dt.start(ranks=1) as made:
        editor = Editor(made.name)
        assert editor.attach()["success"]
    editor.event("terminated")
    with editor:
        assert editor.ask("disconnect")["success"]
        assert editor.process.wait(20) == 0
