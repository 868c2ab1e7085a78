"""Ranks and jobs that a kernel starts while its debugger is on; debugpy adds itself to each Python there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.books import write
from tests.integration.debugger.debugged import Debugged
from tests.integration.kernels import by_rank

pytestmark = [pytest.mark.processes, pytest.mark.timeout(300)]
JOB = "import dtrain_lab as dt\njob = dt.submit({path!r}, nodes=1, ranks_per_node=1)\nprint(job.wait(120))"


@pytest.fixture
def debugged() -> Iterator[Debugged]:
    made = Debugged()
    try:
        assert made.run("%load_ext dtrain_lab").status == "ok"
        made.switch_on()
        yield made
        made.switch_off()
    finally:
        made.close()


def test_ranks_and_jobs_start_while_the_debugger_is_on(debugged: Debugged, tmp_path: Path) -> None:
    ran = debugged.run("%distributed start --ranks 1")
    assert ran.status == "ok", ran
    assert by_rank(debugged.run("%%distributed\nprint(rank)").stdout) == {0: ["0"]}
    assert debugged.run("%distributed stop").status == "ok"
    book = write(tmp_path / "book.ipynb", ["1"])
    assert debugged.run(JOB.format(path=str(book))).stdout.splitlines()[-1:] == ["succeeded"]


def test_an_environment_whose_python_is_missing_is_said(debugged: Debugged) -> None:
    code = (
        "from dtrain_lab.backends.local import undebugged\n"
        "try:\n    undebugged.command(['/no/python'])\nexcept OSError as error:\n    print(error.strerror)"
    )
    assert debugged.run(code).stdout == "No such file or directory\n"
