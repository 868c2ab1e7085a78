"""What the terminal says of jobs, whatever stands in their messages."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from msgspec.structs import replace

from dtrain_lab.api.portal import Portal
from dtrain_lab.backends.slurm import allocation, steps
from dtrain_lab.backends.slurm import backend as slurm
from dtrain_lab.cells import rank_sets
from dtrain_lab.cli.base import show
from dtrain_lab.cli.jobs import job as cli
from dtrain_lab.cli.main import main
from dtrain_lab.errors import BadProfile, BadRankSet, BadRequest
from dtrain_lab.services.index import sweep_names
from dtrain_lab.services.index.store import JobIndex
from dtrain_lab.services.jobs.jobs import Jobs
from dtrain_lab.services.plans import packing
from dtrain_lab.services.policy import backends
from dtrain_lab.wire.jobs.job import EndCommand
from dtrain_lab.wire.jobs.log import Log, LogBars, LogPiece
from tests.unit.jobs.records import FAILED, RECORD


@pytest.fixture
def jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Jobs:
    store = JobIndex(tmp_path / "jobs.sqlite")
    folder = tmp_path / "jobs" / RECORD.id
    folder.mkdir(parents=True)
    record = replace(RECORD, directory=str(folder), checkpoints=f"{folder}/checkpoints", handle=None)
    store.put(record)
    store.save_state(record, replace(FAILED, directory=str(folder)))
    (folder / "exit").write_text('{"code": 1, "at": 200.0}')
    made = Jobs(store)
    monkeypatch.setattr(Portal.get("terminal"), "_jobs", made)
    return made


def terminal(*words: str, code: int = 0) -> Result:
    done = CliRunner().invoke(main, words)
    assert done.exit_code == code, (done.output, done.exception)
    return done


def test_brackets_in_messages_are_no_markup(jobs: Jobs) -> None:
    for command in (("job", "list"), ("job", "show", "n")):
        shown = " ".join(terminal(*command).stdout.split())
        assert "prompt ends with [/INST] and [bold]" in shown


def test_a_job_is_shown_as_its_view_shows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    metrics = replace(
        FAILED.metrics, values={"step": 1200, "loss": 0.51234567, "lr": 0.01}, averaged=("loss",)
    )
    world = replace(FAILED.world, size=4)
    parameters = {"lr": 0.01, "name": "[digits]"}
    trained = replace(
        FAILED,
        metrics=metrics,
        world=world,
        parameters=parameters,
        checkpoint_step=2304,
        parent="older000",
        resumed_step=1024,
    )

    async def answer(self: Jobs, *_: Any) -> Any:
        return trained

    monkeypatch.setattr(Jobs, "job", answer)
    shown = terminal("job", "show", "n").stdout.splitlines()
    for line in (
        "State: failed",
        f"Profile: {trained.profile}",
        f"Size: {trained.size.nodes} × {trained.size.ranks_per_node} = 4 ranks",
        "Parameters: lr 0.01, name [digits]",
        "Time: 10 s",
        "Resumed from: older000, at step 1,024",
        "Logged by rank 0: lr 0.01 (step 1,200)",
        "Logged, mean over ranks: loss 0.5123 (step 1,200)",
        "Checkpoint: step 2,304",
        f"Folder: {trained.directory}",
    ):
        assert line in shown
    trained = replace(trained, resumed_step=None)
    assert "Started over after: older000" in terminal("job", "show", "n").stdout.splitlines()
    assert {line.split(":")[0] for line in shown} >= {"Submitted", "Started", "Ended"}
    assert not any("None" in line for line in shown)


def test_a_command_that_failed_at_a_jobs_end_is_shown_with_its_output(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    command = EndCommand("curl [there]", 6, "curl: (6) Could\nnot resolve [there]")

    async def answer(self: Jobs, *_: Any) -> Any:
        return replace(FAILED, end_command=command)

    monkeypatch.setattr(Jobs, "job", answer)
    shown = terminal("job", "show", "n").stdout
    told = "The command that ran when the job ended failed with exit code 6: curl [there]"
    assert f"{told}\n  curl: (6) Could\n  not resolve [there]\n" in shown
    assert "Command when it ends: failed, exit code 6\n" in shown
    command = EndCommand("true", 0)
    assert "Command when it ends: done\n" in terminal("job", "show", "n").stdout
    command = EndCommand("sleep 60")
    assert "Command when it ends: running\n" in terminal("job", "show", "n").stdout


@pytest.mark.parametrize(
    ("known", "begins"),
    [
        ({"checkpoint_step": 2304}, "It starts from the checkpoint of step 2,304."),
        ({"checkpoint_step": None}, "n has no complete checkpoint: it starts from the beginning."),
        ({"checkpoint_step": 2304, "begins_again": True}, "It starts from the beginning: the notebook"),
    ],
)
def test_a_resumed_job_says_where_it_starts(
    known: dict[str, Any], begins: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def answer(self: Jobs, *_: Any, **__: Any) -> Any:
        return replace(FAILED, **known)

    monkeypatch.setattr(Jobs, "job", answer)
    monkeypatch.setattr(Jobs, "resume", answer)
    assert terminal("job", "resume", "n").stdout.splitlines()[-1].startswith(begins)
    json.loads(terminal("job", "resume", "n", "--json").stdout)


def test_deleting_asks_first(jobs: Jobs, tmp_path: Path) -> None:
    folder = tmp_path / "jobs" / RECORD.id
    for words in (("job", "delete", "n"), ("job", "prune"), ("job", "delete", "n", "--json")):
        refused = terminal(*words, code=2)
        assert "--yes" in refused.stderr
        assert refused.stdout == ""
    shown = json.loads(terminal("job", "prune", "--dry-run", "--json").stdout)
    assert shown == [{"id": RECORD.id, "name": "n"}]
    assert "1 would be deleted" in terminal("job", "prune", "--dry-run").stdout
    assert folder.exists()
    assert "1 deleted" in terminal("job", "prune", "--yes").stdout
    assert not folder.exists()
    assert json.loads(terminal("job", "list", "--json").stdout) == []


def test_prune_leaves_the_trials_of_sweeps_to_their_sweep(
    jobs: Jobs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Found by hand: it listed the trials as single jobs, the sweep's best one among them."""

    async def ended(*_: Any) -> Any:
        return [replace(FAILED, id="t1", name="tune 1", sweep="s1"), FAILED]

    monkeypatch.setattr(Jobs, "old", ended)
    shown = terminal("job", "prune", "--dry-run").stdout
    assert "tune 1" not in shown
    assert "1 would be deleted." in shown
    assert "1 trial of a sweep stays; delete a whole sweep: dtrain-lab sweep delete ID" in shown
    assert [one["id"] for one in json.loads(terminal("job", "prune", "--dry-run", "--json").stdout)] == [
        FAILED.id
    ]


def test_a_command_is_the_first_to_ask_for_the_portal_of_its_terminal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Found by hand: the hint of `job resume` was "Cancel it first: job.cancel()"."""
    kinds: list[str] = []
    monkeypatch.setattr(Portal, "_instance", None)

    def look(*_: Any) -> Any:
        kinds.append(Portal.get().kind)
        raise BadRequest("No.", "")

    monkeypatch.setattr(cli, "job", look)
    terminal("job", "resume", "n", code=2)
    Portal.get().close()
    monkeypatch.setattr(Portal, "_instance", None)
    after = Portal.get()
    after.close()
    assert (kinds, after.kind) == (["terminal"], "python"), "only while a command runs"


def test_days_are_a_number_and_a_closed_stdin_is_nobody(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    for days in ("-1", "nan"):
        assert "is not a number of days" in terminal("job", "prune", "--older-than", days, code=2).stderr
    assert terminal("job", "prune", "--older-than", "inf", "--dry-run").stdout == "0 would be deleted.\n"
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(BadRequest, match="There is no terminal to answer at"):
        show.confirm("Delete it?", yes=False, as_json=False)


def test_a_deletion_that_failed_is_told(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    def busy(folder: str) -> None:
        raise OSError(16, "Device or resource busy", folder)

    monkeypatch.setattr("shutil.rmtree", busy)
    told = json.loads(terminal("job", "delete", "n", "--yes", "--json", code=1).stderr)
    assert "can't be removed: Device or resource busy" in told["message"]
    told = json.loads(terminal("job", "prune", "--yes", "--json", code=1).stderr)
    assert told["code"] == "not_deleted"
    assert [one["id"] for one in json.loads(terminal("job", "list", "--json").stdout)] == [RECORD.id]


def test_errors_are_json_where_the_rest_is(jobs: Jobs) -> None:
    told = json.loads(terminal("job", "show", "none", "--json", code=3).stderr)
    assert (told["code"], told["message"]) == ("no_job", 'There is no job "none".')
    assert set(told) == {"code", "message", "hint", "details"}
    told = json.loads(terminal("job", "show", "--json", code=2).stderr)
    assert (told["message"], told["hint"]) == ("Missing argument 'ID'.", "See: main job show --help")
    assert terminal("job", "show", code=2).stderr.startswith("Usage:")


def test_a_sweep_is_no_job_and_its_command_is_named(
    jobs: Jobs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweep_names, "base", lambda: tmp_path / "sweeps")
    (tmp_path / "sweeps" / "1f2e3d").mkdir(parents=True)
    (tmp_path / "sweeps" / "1f2e3d" / sweep_names.RECORD).write_text('{"name": "lr", "state": "running"}')
    for name in ("1f2e3d", "1f2e", "lr"):
        for command in ("show", "logs", "resume", "duplicate", "cancel", "stacks"):
            told = json.loads(terminal("job", command, name, "--json", code=3).stderr)
            assert told["message"] == f'"{name}" is a sweep, not a job.'
            assert told["hint"].startswith(f"Show it: dtrain-lab sweep show {name}. ")
            assert told["hint"].endswith(f": dtrain-lab sweep trials {name}")


def test_a_log_is_followed_line_by_line(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    bars = (LogBars(3.0, 0, ("50%",), error=True),)
    pieces = [
        LogPiece((Log(1.0, 0, "[a]"), Log(2.0, 1, "b")), "0:9", bars=bars),
        LogPiece((), "0:9", end=True),
    ]

    class Reader:
        async def logs(self, **_: Any) -> LogPiece:
            return pieces.pop(0)

    async def reader(self: Jobs, name: str) -> Reader:
        return Reader()

    monkeypatch.setattr(Jobs, "reader", reader)
    lines = terminal("job", "logs", "-f", "n", "--json").stdout.splitlines()
    assert [json.loads(line)["text"] for line in lines] == ["[a]", "b", "50%"]


def test_a_job_that_does_not_end_in_time_is_no_traceback(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    running = replace(FAILED, state="running")

    async def answer(self: Jobs, *_: Any) -> Any:
        return running

    monkeypatch.setattr(Jobs, "job", answer)
    monkeypatch.setattr(Jobs, "cancel", answer)
    monkeypatch.setattr(cli, "CANCEL_WITHIN_S", 0.1)
    assert "n is still running" in terminal("job", "cancel", "n", code=1).stderr


def test_jobs_are_found_again(jobs: Jobs, tmp_path: Path) -> None:
    folder = tmp_path / "jobs"
    again = replace(RECORD, id="again000", directory=f"{folder}/again000", owner="somebody")
    (folder / "again000").mkdir()
    from dtrain_lab.services.plans.folder_files import files_of

    (folder / "again000" / "job.json").write_bytes(files_of(again, backends.backend("local"))["job.json"])
    (folder / "copy").mkdir()
    (folder / "copy" / "job.json").write_bytes(files_of(again, backends.backend("local"))["job.json"])
    made = json.loads(terminal("job", "rebuild", str(folder), "--json").stdout)
    assert (made["found"], made["added"], len(made["problems"])) == (1, 1, 1)
    assert "the record of the job again000" in made["problems"][0]
    assert terminal("job", "rebuild", str(folder)).stdout.startswith("1 job has a folder; 0")
    assert "There is no folder" in terminal("job", "rebuild", str(folder / "none"), code=3).stderr


def test_one_meaning_of_ranks() -> None:
    assert [rank_sets.asked(text, 4) for text in (None, "", 0, [0, 2], (3,), "0,2-3", range(2))] == [
        None,
        None,
        (0,),
        (0, 2),
        (3,),
        (0, 2, 3),
        (0, 1),
    ]
    numpy = pytest.importorskip("numpy")
    for array in (
        numpy.array([0, 2]),
        numpy.array(2),
        {2},
        numpy.int64(2),
        iter([2]),
        " 2 ",
        [numpy.int8(2)],
    ):
        assert (rank_sets.asked(array, 4) or ())[-1] == 2
    wrong = (
        4,
        -1,
        [],
        [0, 0],
        [-1],
        [True],
        [1.0],
        ["0-2"],
        [[0]],
        [None],
        True,
        b"0",
        1.5,
        10**30,
        object(),
    )
    for none in (
        *wrong,
        numpy.array([[0]]),
        numpy.array([0.5]),
        "9" * 5000,
        f"0-{'9' * 5000}",
        "0-",
        ",",
        "-1",
    ):
        with pytest.raises(BadRankSet):
            rank_sets.asked(none, 4)  # type: ignore[arg-type]


def test_a_link_out_of_the_project_is_not_packed(tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / "src").mkdir(parents=True)
    (tmp_path / "secret").write_text("token")
    (project / "src" / "inside.py").write_text("x = 1")
    (project / "config").symlink_to(tmp_path / "secret")
    (project / "alias.py").symlink_to("src/inside.py")
    (tmp_path / "datasets").mkdir()
    (tmp_path / "datasets" / "large.py").write_text("x = 2")
    (project / "data").symlink_to(tmp_path / "datasets")
    (project / "loop").symlink_to(project)
    packed = packing.pack(project)
    assert packed.files == {"alias.py": b"x = 1", "src/inside.py": b"x = 1"}
    # on this machine a job is led to them
    assert packed.left == ("config", "data", "loop")


def test_what_travels_is_limited_as_the_guide_says_and_the_rest_is_named(tmp_path: Path) -> None:
    """Six levels, 2,000 files, 1 MiB a file, 32 MiB in all: the guide's numbers, not the code's."""
    deep = tmp_path / "deep"
    at = deep
    for name in "abcdef":
        at /= name
        at.mkdir(parents=True)
        (at / "m.py").write_text("x")
    packed = packing.pack(deep)
    assert sorted(packed.files) == ["a/b/c/d/e/m.py", "a/b/c/d/m.py", "a/b/c/m.py", "a/b/m.py", "a/m.py"]
    assert packed.left == ("a/b/c/d/e/f",)
    many = tmp_path / "many"
    many.mkdir()
    for number in range(2001):
        (many / f"{number:04}.py").touch()
    assert packing.survey(many).left == ("2000.py",)
    large = tmp_path / "large"
    large.mkdir()
    for number in range(33):
        os.truncate(os.open(large / f"{number:02}.bin", os.O_CREAT | os.O_RDWR), 1 << 20)
    os.truncate(os.open(large / "above.bin", os.O_CREAT | os.O_RDWR), (1 << 20) + 1)
    assert packing.survey(large).left == ("32.bin", "above.bin")


def test_only_python_files_of_a_home_folder_travel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    (tmp_path / "project").mkdir()
    for name in ("a.py", "notes.txt", "project/b.py"):
        (tmp_path / name).touch()
    packed = packing.pack(tmp_path)
    assert (list(packed.files), packed.left) == (["a.py"], ("notes.txt",))


def test_an_allocation_is_a_number() -> None:
    assert [allocation._number(text) for text in ("12", "12_3", "12+1")] == ["12", "12_3", "12+1"]
    with pytest.raises(BadProfile, match="is not a job number"):
        allocation._number("12; touch /tmp/x")


def test_variables_of_a_profile_stand_in_no_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """A check of nodes runs through a login host, on which everybody reads command lines."""
    import asyncio
    import base64

    from dtrain_lab.backends.hosts.base import Done
    from dtrain_lab.wire.profile import Environment, Profile, Slurm

    ran: list[tuple[list[str], bytes]] = []

    class Way:
        async def run(self, words: Any, stdin: bytes = b"") -> Done:
            ran.append((list(words), stdin))
            sinfo = "p*|n1|idle|4|8000|(null)|infinite\n"
            return Done(0, sinfo.encode() if words[0] == "sinfo" else b"", "")

    for module in (slurm, steps):
        monkeypatch.setattr(module, "transport", lambda _: Way())
    profile = Profile(
        backend="slurm",
        environment=Environment(variables={"API_KEY": "s3cret"}),
        slurm=Slurm(constraint="a100|v100", account="a b"),
    )
    asyncio.run(slurm.SlurmBackend().checks(profile, "python3"))
    words, told = ran[-1]
    assert words[0] == "srun"
    assert "s3cret" not in " ".join(words)
    assert b"export API_KEY=s3cret" in base64.b64decode(told.splitlines()[0])
    assert {"--constraint=a100|v100", "--account=a b"} <= set(words), "words of a command have no quotes"


def test_after_an_action_the_scheduler_is_asked_at_once() -> None:
    import asyncio

    from dtrain_lab.backends.hosts.base import Done
    from dtrain_lab.backends.slurm.queue import Queue

    asked = []

    class Way:
        async def run(self, words: Any) -> Done:
            asked.append(words)
            state = "COMPLETED" if len(asked) > 1 else "RUNNING"
            return Done(0, f"7|{state}|None|N/A|n1|dtl:x\n".encode(), "")

    async def main() -> None:
        queue = Queue(Way(), lambda: 30.0)  # type: ignore[arg-type]
        assert (await queue.job("7")).state == "RUNNING"  # type: ignore[union-attr]
        assert (await queue.job("7")).state == "RUNNING"  # type: ignore[union-attr]
        queue.hurry()
        assert (await queue.job("7")).state == "COMPLETED"  # type: ignore[union-attr]

    asyncio.run(main())
    assert len(asked) == 2


def test_a_copy_keeps_the_name_of_a_job_but_not_that_of_a_trial(jobs: Jobs) -> None:
    portal = Portal.get("terminal")

    def name(**request: Any) -> str | None:
        wanted = replace(RECORD.request, **request)
        portal.call(jobs._index.change(RECORD.id, request=wanted))
        return portal.call(jobs.request_of(RECORD.id))[0].name

    assert name(name="long2") == "long2"
    assert name(name="tune 3", sweep="5eed") is None
