"""The execute request of a kernel: what its cell is called in the debugger."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any

from ipykernel import compiler

from dtrain_lab.debugger.sources import cell_name
from dtrain_lab.kernel.execute_request import ExecuteRequest

CELL = "%%distributed\npass"


def shell() -> Any:
    kernel = SimpleNamespace(get_parent=lambda _: {"content": {"code": CELL}})
    made = SimpleNamespace(kernel=kernel, user_ns={})
    made.user_ns["request"] = ExecuteRequest(made)
    return made


def run(code: str, file: str, names: dict[str, Any]) -> None:
    exec(compile(code, file, "exec"), names)


def test_a_cell_has_the_name_under_which_the_kernel_has_compiled_it() -> None:
    names = shell().user_ns
    run("found = request.debugger_file()", os.path.join(compiler.get_tmp_directory(), "12.py"), names)
    assert names["found"] == "12.py"


def test_code_that_a_magic_runs_belongs_to_its_cell() -> None:
    names = shell().user_ns
    names["run"] = lambda code: run(code, "<timed exec>", names)
    file = os.path.join(compiler.get_tmp_directory(), "12.py")
    run("run('found = request.debugger_file()')", file, names)
    assert names["found"] == "12.py"


def test_code_that_is_no_cell_gets_the_name_of_the_text() -> None:
    names = shell().user_ns
    run("found = request.debugger_file()", "<string>", names)
    assert names["found"] == cell_name(compiler.get_file_name(CELL))
