"""What a rank printed before it died: all of it arrives, with the traceback of a crash."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from typing import Any

import pytest

import dtrain_lab as dt
from dtrain_lab.errors import CellFailed
from dtrain_lab.wire import clients
from tests.faults import note
from tests.waiting import wait_until

pytestmark = pytest.mark.processes

LINES = 20_000
PRINT = f"""
import os, signal, sys, ctypes
for number in range({LINES}):
    print("line", number)
"""
ENDS = {
    "os._exit": ("os._exit(3)", "exited with code 3"),
    "SIGKILL": ("os.kill(os.getpid(), signal.SIGKILL)", "killed by signal 9"),
    "SIGTERM": ("os.kill(os.getpid(), signal.SIGTERM)", "killed by signal 15"),
    "segfault": ("ctypes.string_at(0)", "killed by signal 11"),
}


@pytest.mark.parametrize("way", ENDS)
def test_no_line_is_lost_however_a_rank_ends(pair: dt.Cluster, way: str) -> None:
    code, how = ENDS[way]
    began = time.monotonic()
    result = pair.run(PRINT + code, ranks=[1], check=False)
    note(
        f"a rank ends by {way} while it prints",
        "the cluster, as soon as the process ends",
        result.sentence,
        "every line that it printed; all other ranks",
        "cell ended, with its output",
        time.monotonic() - began,
    )
    assert how in result.sentence
    assert result.stdout[1].splitlines() == [f"line {number}" for number in range(LINES)]
    pair.restart([1])


def test_the_traceback_of_a_crash_names_the_cell(pair: dt.Cluster) -> None:
    code = "import ctypes\ndef crash():\n    ctypes.string_at(0)\n\ncrash()"
    result = pair.run(code, ranks=[0], check=False)
    assert "Fatal Python error: Segmentation fault" in result.stderr[0]
    assert "cell [ ], line 3 in crash" in result.stderr[0]
    assert "cell [ ], line 5 in <module>" in result.stderr[0]
    assert "Extension modules" not in result.stderr[0]
    assert [(lost.cell, lost.line) for lost in pair.snapshot().lost] == [("[ ]", 3)]
    pair.restart([0])


def test_what_c_code_wrote_last_arrives_too(pair: dt.Cluster) -> None:
    code = "import os\nprint('python')\nos.write(1, b'raw\\n')\nos.write(2, b'raw error\\n')\nos._exit(1)"
    result = pair.run(code, ranks=[0], check=False)
    assert sorted(result.stdout[0].split()) == ["python", "raw"]
    assert result.stderr[0] == "raw error\n"
    pair.restart([0])


def test_a_flood_larger_than_what_is_kept_is_whole_and_in_order(pair: dt.Cluster) -> None:
    code = "for number in range(60_000):\n    print('x' * 40, number)\nprint('y' * 1_000_000)"
    result = pair.run(code)
    expected = "".join(f"{'x' * 40} {number}\n" for number in range(60_000)) + "y" * 1_000_000 + "\n"
    assert result.stdout[0] == result.stdout[1] == expected


def test_characters_of_several_bytes_are_not_cut(pair: dt.Cluster) -> None:
    text = "日本語 é 🙂 " * 30_000
    result = pair.run(f"import os\nprint({text!r}, end='')\nos._exit(0)", ranks=[1], check=False)
    assert result.stdout[1] == text
    pair.restart([1])
    with pytest.raises(CellFailed, match="exited with code 0"):
        pair.run("import os; os._exit(0)", ranks=[1])
    pair.restart([1])


STANDS = {
    "SIGSTOP": "os.kill(os.getpid(), signal.SIGSTOP)",
    "C code that holds the GIL": "ctypes.PyDLL(None).sleep(6)",
}


@pytest.mark.parametrize("way", STANDS)
def test_what_a_rank_printed_is_shown_while_it_stands(pair: dt.Cluster, way: str) -> None:
    """Its agent has the text. Once the rank goes on, nothing is there twice."""
    prints = "print('béfore', end='')\nprint('ein fehler', file=sys.stderr)"
    text = f"import ctypes, os, signal, sys\n{prints}\n{STANDS[way]}\nprint(' after')"
    before = pair._portal.call(pair._connection.ask(clients.ReadOutput(-1, 1_000_000)))
    last = max((o.seq for o in before), default=-1)
    pid = next(r.pid for r in pair.snapshot().ranks if r.rank == 1)
    assert pid is not None
    outcome: list[Any] = []
    began = time.monotonic()
    thread = threading.Thread(target=lambda: outcome.append(pair.run(text, ranks=[1], timeout=60)))
    thread.start()
    try:

        def journal() -> str:
            seen = pair._portal.call(pair._connection.ask(clients.ReadOutput(last, 1000)))
            return "".join(o.text or "" for o in seen)

        wait_until(lambda: "béfore" in journal() and "ein fehler" in journal(), 5, "what it printed")
        seconds = time.monotonic() - began
        assert not outcome, "it stands still"
    finally:
        if way == "SIGSTOP":
            os.kill(pid, signal.SIGCONT)
        thread.join(60)
    result = outcome[0]
    assert result.stdout[1] == "béfore after\n"
    assert result.stderr[1] == "ein fehler\n"
    note(
        f"a rank prints, then hangs ({way})",
        "its node, which has the output, once the rank is silent",
        "what it printed last, in its cell",
        "everything; nothing is shown twice afterwards",
        "printed → shown",
        seconds,
    )


CUT = """
import os, socket, threading, time
def cut():
    for number in os.listdir("/proc/self/fd"):
        try:
            made = socket.socket(fileno=os.dup(int(number)))
            if str(made.getpeername()).endswith("link.s"):
                made.shutdown(socket.SHUT_WR)
        except OSError:
            pass
print("before")
cut()
time.sleep(60)
"""


def test_a_rank_that_nobody_can_reach_ends_and_is_told(pair: dt.Cluster) -> None:
    """Its connection broke, as after a failed send: it would be there, and deaf forever."""
    began = time.monotonic()
    result = pair.run(CUT, ranks=[1], check=False, timeout=30)
    note(
        "a rank's connection to its head breaks",
        "the rank itself, which ends; then the cluster",
        result.sentence,
        "every line that it printed; all other ranks",
        "broken → cell ended",
        time.monotonic() - began,
    )
    assert "exited with code 1" in result.sentence
    assert "before" in result.stdout[1]
    (loss,) = pair.snapshot().lost
    assert "the connection to the head is lost" in loss.last
    pair.restart([1])
    assert pair.run("print(rank)").stdout == {0: "0\n", 1: "1\n"}


def test_what_is_said_at_the_exit_arrives() -> None:
    with dt.start(ranks=2, name="last") as cluster:
        said: list[Any] = []
        code = "import atexit, sys\natexit.register(print, 'the end of', rank)"
        order = clients.Run(cell="says", code=code, label="[1]")
        cluster._portal.call(cluster._connection.run(order, said.append))
        cluster.stop()
    assert sorted("".join(output.text for output in said).splitlines()) == ["the end of 0", "the end of 1"]


COUNTS = """
import time
for number in range(400):
    print("line", number, flush=True)
    time.sleep(0.01)
"""


def test_a_clients_connection_that_breaks_is_made_again(pair: dt.Cluster) -> None:
    """As a failed send leaves it: the head has closed its end, and lives on."""
    result: list[dt.Result] = []
    connection = pair._connection
    thread = threading.Thread(target=lambda: result.append(pair.run(COUNTS, timeout=60)))
    thread.start()
    wait_until(lambda: sum(connection._cells.shown.values()) > 40, 20, "some lines")
    broken = connection._transport._stream
    assert broken is not None
    broken._socket.shutdown(socket.SHUT_WR)
    thread.join(60)
    assert result
    lines = "".join(f"line {number}\n" for number in range(400))
    assert result[0].stdout == {0: lines, 1: lines}
    assert connection._transport._stream not in (None, broken)
    assert pair.run("print(rank)").stdout == {0: "0\n", 1: "1\n"}
