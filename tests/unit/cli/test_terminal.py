"""What the terminal says on which stream, and of what does not answer."""

from __future__ import annotations

import errno
import io
import json
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import pytest
from click.testing import CliRunner

from dtrain_lab.api import prompts
from dtrain_lab.backends.hosts.signin import Question, Questions
from dtrain_lab.cli import cluster as command
from dtrain_lab.cli.base.show import reports_errors
from dtrain_lab.cli.main import main
from dtrain_lab.errors import BadRequest, NotFound, StartFailed
from dtrain_lab.machine import folders
from dtrain_lab.machine.folders import RUNTIME_VARIABLE
from dtrain_lab.services import paths
from dtrain_lab.services.policy import options


def test_a_hosts_questions_are_not_mixed_with_json(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("yes\n"))
    monkeypatch.setattr(prompts, "kernel", lambda: None)
    asked = Questions("1", "login", "Host key", "Is it this one?", (Question("Trust it?", hidden=False),))
    assert prompts.ask(asked) == ["yes"]
    assert prompts.ask(asked) is None, "the input was closed"
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("Host key\nIs it this one?\nlogin: Trust it? ")


def test_a_cluster_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    class Worlds:
        def running(self) -> list[Any]:
            return [SimpleNamespace(id="1", name="hangs", directory="/d")]

        def clusters(self) -> list[Any]:
            return []

    portal = SimpleNamespace(worlds=Worlds(), call=lambda found: found)
    monkeypatch.setattr(command.Portal, "get", lambda *_, **__: portal)
    said = CliRunner().invoke(main, ["cluster", "list", "--json"])
    assert json.loads(said.stdout) == []
    assert said.stderr == "hangs does not answer. Its log is in /d\n"


def test_a_disk_that_takes_no_record_is_told_before_a_start(monkeypatch: pytest.MonkeyPatch) -> None:
    paths.check_writable()

    def full(*_: Any, **__: Any) -> Any:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    with pytest.raises(StartFailed) as refused:
        paths.check_writable()
    assert refused.value.message.startswith(f"{paths.records()} can't be written: No space left on device.")


def test_a_path_that_sockets_cant_have_is_told_before_a_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(RUNTIME_VARIABLE, str(tmp_path / ("x" * folders.LONGEST)))
    with pytest.raises(StartFailed, match="is too long a path for a cluster's sockets"):
        paths.check_writable()


def test_the_longest_paths_fit_what_sockets_may_have() -> None:
    base = "/" + "t" * (folders.LONGEST_BASE - 2)  # the longest that is taken
    assert len(f"{base}/dtrain-lab-4294967295/0123456789ab.job/client.s") <= folders.SOCKET_PATH
    assert len("/" + "r" * (folders.LONGEST - 1) + "/0123456789ab/client.s") == folders.SOCKET_PATH


@pytest.mark.parametrize("text", ["abc", "nan", "-1", "inf"])
def test_a_variable_that_is_no_number_is_named(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DTRAIN_LAB_ADOPTION_S", text)
    with pytest.raises(BadRequest, match=f'DTRAIN_LAB_ADOPTION_S is "{text}"'):
        options.of_environment()


@pytest.mark.parametrize(
    ("hint", "words"),
    [
        ("Start one: %distributed start", "Start one: dtrain-lab cluster start"),
        ("Replace it: %distributed restart 1-2", "Replace it: dtrain-lab cluster restart it --ranks 1-2"),
        ("Restart them: %distributed restart", "Restart them: dtrain-lab cluster restart it"),
        (
            "Wait, or: %distributed restart 1, or so.",
            "Wait, or: dtrain-lab cluster restart it --ranks 1, or so.",
        ),
        ("It is there: %distributed attach one", "It is there: dtrain-lab cluster show one"),
        ("Compare: %distributed resize N", "Compare: dtrain-lab cluster start --ranks N"),
        ("Write %distributed push NAME", "Write %distributed push NAME"),
    ],
)
def test_a_hint_names_what_the_terminal_has(hint: str, words: str) -> None:
    @reports_errors
    def fails(name: str) -> None:
        raise NotFound("There is none.", hint)

    said = CliRunner().invoke(click.command()(click.argument("name")(fails)), ["it"])
    assert said.stderr == f"dtrain-lab: There is none. {words}\n"


@pytest.mark.parametrize(
    "of",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        OSError(errno.EACCES, "Permission denied", "/data/x"),
        OSError(errno.ENOTDIR, "Not a directory", "/data/x"),
        OSError(errno.ESTALE, "Stale file handle", "/data/x"),
    ],
)
def test_a_disk_that_cant_be_used_is_told_in_one_line(of: OSError) -> None:
    def fails() -> None:
        raise of

    said = CliRunner().invoke(click.command()(reports_errors(fails)), [])
    where = f"{of.filename}: " if of.filename else ""
    hint = "Check the disk's free space, and who owns the folder."
    assert said.stderr == f"dtrain-lab: {where}{of.strerror}. {hint}\n"


@pytest.mark.parametrize(
    "of",
    [
        TimeoutError(),
        ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused"),
        PermissionError(errno.EACCES, "Permission denied"),
        FileNotFoundError(errno.ENOENT, "No such file or directory", "sbatch"),
        BrokenPipeError(),
    ],
)
def test_what_no_disk_did_keeps_its_traceback(of: OSError) -> None:
    def fails() -> None:
        raise of

    said = CliRunner().invoke(click.command()(reports_errors(fails)), [], standalone_mode=False)
    assert said.exception is of
    assert said.stderr == ""
