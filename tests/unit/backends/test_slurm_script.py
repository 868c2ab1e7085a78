"""Slurm as values: plans, scripts, words."""

from __future__ import annotations

import shlex
import subprocess
import time
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from dtrain_lab.backends.hosts.base import Done
from dtrain_lab.backends.slurm import allocation_end, partitions, reasons
from dtrain_lab.backends.slurm.backend import SlurmBackend
from dtrain_lab.backends.slurm.batch_jobs import BatchJob
from dtrain_lab.backends.slurm.queue import Queue
from dtrain_lab.backends.slurm.script import batch
from dtrain_lab.errors import BadProfile, BadSize
from dtrain_lab.jobs.file_names import BATCH
from dtrain_lab.placement import activation, amounts
from dtrain_lab.wire.plan import NodeFacts, Partition, Plan, Request, SchedulerFacts
from dtrain_lab.wire.processes.submission import ClusterRecord
from dtrain_lab.wire.profile import Environment, Network, Profile, Slurm, Ssh
from dtrain_lab.wire.summary import Summary
from dtrain_lab.world.summary import soon
from tests.unit.backends import job_scripts

GOLDEN = Path(__file__).parents[1] / "golden"
GPU = Partition("gpu", tuple(NodeFacts(f"g{i}", "", 32, 8, 512 << 30) for i in range(4)), 86_400, True)
CPU = Partition("cpu", tuple(NodeFacts(f"c{i}", "", 64, 0, 256 << 30) for i in range(2)), None)
FACTS = SchedulerFacts((GPU, CPU))


def plan(profile: Profile, **asked: int) -> Plan:
    return partitions.plan_slurm(
        profile, Request(profile.name, **asked), FACTS, python="/v/bin/python", directory="/h"
    )


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("5", 300),
        ("5:30", 330),
        ("02:00:00", 7200),
        ("1-00", 86_400),
        ("1-12:30", 131_400),
        ("infinite", None),
    ],
)
def test_times(text: str, seconds: int | None) -> None:
    assert amounts.time_s(text) == seconds


def test_a_time_that_is_none() -> None:
    with pytest.raises(BadProfile, match="is not a time"):
        amounts.time_s("soon")


@pytest.mark.parametrize(
    ("gres", "gpus", "kind"),
    [
        ("(null)", 0, ""),
        ("gpu:4", 4, ""),
        ("gpu:a100:8(S:0-1)", 8, "a100"),
        ("gpu:a:2,gpu:b:2", 4, "a"),
        ("mps:200,gpu:1", 1, ""),
        ("gpu:3g.20gb:2", 2, "3g.20gb"),
    ],
)
def test_gpus_of_a_gres(gres: str, gpus: int, kind: str) -> None:
    assert (partitions.gpus_of(gres), partitions.gpu_kind(gres)) == (gpus, kind)


def test_partitions_leave_out_nodes_that_are_down() -> None:
    lines = [
        "main*|n1|idle|8|16000|gpu:2|1-00:00:00",
        "main*|n2|drained*|8|16000|gpu:2|1-00:00:00",
        "short|n1|mix|8|16000+|(null)|5:00",
        "garbage",
    ]
    main, short = partitions.parsed(lines)
    assert (main.name, [n.name for n in main.nodes], main.time_s, main.default) == (
        "main",
        ["n1"],
        86_400,
        True,
    )
    assert (short.nodes[0].gpus, short.nodes[0].memory_bytes, short.time_s) == (0, 16_000 << 20, 300)


def test_idle_nodes_are_offered_to_a_world_that_waits_for_more() -> None:
    lines = [
        f"main*|n{i}|{state}|8|16000|gpu:2|infinite"
        for i, state in enumerate(("idle", "mix", "idle", "idle*"))
    ]
    facts = SchedulerFacts(partitions.parsed(lines))
    assert facts.partitions[0].idle == ("n0", "n2"), "idle* does not answer"

    def offered(profile: Profile, **asked: int) -> list[tuple[str, object]]:
        made = partitions.plan_slurm(
            profile, Request(profile.name, **asked), facts, python="", directory="/h"
        )
        return [(other.text, other.request) for other in partitions.sooner(made, profile, facts)]

    profile = Profile(backend="slurm", name="p")
    wanted = {"profile": "p", "nodes": 2, "ranks_per_node": 2}
    assert offered(profile, nodes=3) == [("4 ranks on 2 nodes could start sooner.", wanted)]
    assert offered(profile, nodes=2) == [], "it fits: something else is in its way"
    fast = replace(profile, slurm=Slurm(constraint="a100"))
    assert offered(fast, nodes=3) == [], "which nodes fit is not known"
    assert offered(replace(profile, memory_per_node="15G"), nodes=3, ranks_per_node=1)[0][1] == {
        **wanted,
        "ranks_per_node": 1,
    }


def test_ranks_alone_take_the_fewest_nodes() -> None:
    profile = Profile(backend="slurm", name="p")
    for asked, nodes in ((4, 1), (8, 1), (16, 2), (12, 2), (9, 3), (32, 4)):
        found = plan(profile, ranks=asked)
        assert (found.size, len(found.nodes)) == (asked, nodes)
    assert plan(profile).size == 8, "one rank a GPU"


@pytest.mark.parametrize(
    ("asked", "part", "hint"),
    [
        ({"ranks": 11}, "11 ranks can't run on partition gpu", "10 or 12"),
        ({"ranks": 40}, "40 ranks can't run", "32 ranks"),
        ({"nodes": 5, "ranks_per_node": 1}, "5 nodes of 1 rank can't run", "4 or 6"),
        ({"nodes": 1, "ranks_per_node": 9}, "1 node of 9 ranks", "8 or 10"),
        ({"ranks": 0}, "ranks is 0", "4 nodes"),
        ({"ranks": 4, "nodes": 2}, "given together", "either"),
    ],
)
def test_what_never_fits_names_the_nearest_that_does(asked: dict[str, int], part: str, hint: str) -> None:
    with pytest.raises(BadSize, match=part) as error:
        plan(Profile(backend="slurm", name="p"), **asked)
    assert hint in error.value.hint


def test_memory_and_time_are_checked_before_anything_is_queued() -> None:
    with pytest.raises(BadSize, match="memory_per_node = 1T is more"):
        plan(Profile(backend="slurm", memory_per_node="1T"))
    with pytest.raises(BadSize, match="never start: partition gpu limits jobs to 1-00:00:00"):
        plan(Profile(backend="slurm", slurm=Slurm(time="2-00:00:00")))
    with pytest.raises(BadProfile, match="is not a size"):
        plan(Profile(backend="slurm", memory_per_node="much"))


SCRIPTS = {
    "gpu": Profile(backend="slurm", slurm=Slurm(time="02:00:00"), name="gpu"),
    "full": Profile(
        backend="slurm",
        cpus_per_rank=6,
        memory_per_node="64G",
        workdir="/scratch/me",
        environment=Environment(
            kind="modules",
            setup=("module load CUDA PyTorch",),
            variables={"NCCL_DEBUG": "WARN", "ODD": "a 'b' $(c)"},
        ),
        network=Network(ports="20000-20999"),
        slurm=Slurm(
            partition="cpu",
            account="project",
            qos="long",
            constraint="a100|h100",
            time="1-00:00:00",
            options=("--exclusive",),
        ),
        name="full",
    ),
    "apptainer": Profile(
        backend="slurm",
        environment=Environment(kind="apptainer", path="/images/torch 2.sif"),
        slurm=Slurm(allocation="current"),
        ssh=Ssh(login="login1"),
        name="apptainer",
    ),
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_are_what_they_were(name: str) -> None:
    profile = SCRIPTS[name]
    made = plan(profile, nodes=2, ranks_per_node=2)
    text = batch(ClusterRecord("0a1b2c", name, profile, made, "/work dir/w"))
    assert text == (GOLDEN / f"cluster_{name}.sh").read_text()
    assert subprocess.run(["bash", "-n"], input=text, text=True).returncode == 0


@pytest.mark.parametrize("value", ["$(touch /tmp/x)", "a; rm -rf /", "`id`", "a'b", 'a"b', "../../x"])
def test_hostile_values_stay_values(value: str) -> None:
    own = Environment(kind="venv", path=value, variables={"X": value})
    text = activation.script(own, own.variables, [*activation.python(own, "p"), "-c", "0"])
    shown = subprocess.run(
        ["bash", "-c", text.replace("exec ", "printf '%s|' \"$X\" ")], capture_output=True, text=True
    )
    assert shown.stdout == f"{value}|{value.rstrip('/')}/bin/python|-c|0|"


def test_a_hostile_variable_name_is_refused() -> None:
    with pytest.raises(BadProfile, match="can't be the name of a variable"):
        activation.lines(Environment(), {"X; rm": "1"})


def test_every_kind_of_environment_starts_its_python() -> None:
    kinds = {
        "current": ["/me/python"],
        "venv": ["/e/bin/python"],
        "conda": ["/e/bin/python"],
        "modules": ["/e"],
        "apptainer": ["apptainer", "exec", "--nv", "/e", "python3"],
        "command": ["/e", "python3"],
    }
    for kind, words in kinds.items():
        assert activation.python(Environment(kind=kind, path="/e"), "/me/python") == words  # type: ignore[arg-type]
    with pytest.raises(BadProfile, match='"venv" has no path') as error:
        activation.python(Environment(kind="venv"), "p")
    assert error.value.hint == "Set [environment] path to the folder of the venv."


@pytest.mark.parametrize(
    ("code", "state", "part", "final"),
    [
        ("Resources", "PENDING", "waits for free nodes", False),
        ("PartitionTimeLimit", "PENDING", "more time", True),
        ("(ReqNodeNotAvail, UnavailableNodes:n1)", "PENDING", "down or reserved", False),
        ("None", "TIMEOUT", "reached its time limit", True),
        ("None", "PREEMPTED", "higher priority", True),
        ("SomethingNew", "PENDING", "Slurm says: SomethingNew", False),
        # a reason to wait still stands beside the state of a job that was cancelled while it waited
        ("Resources", "CANCELLED by 1000", "was cancelled", True),
        ("NodeDown", "NODE_FAIL", "A node failed", True),
        ("None", "BOOT_FAIL", "did not start", True),
        ("None", "SUSPENDED", "suspended", False),
        ("NonZeroExitCode", "FAILED", "ended with an error", True),
    ],
)
def test_reasons_in_words(code: str, state: str, part: str, final: bool) -> None:
    reason = reasons.reason(code, state)
    assert reason is not None
    assert part in reason.message
    assert reason.final is final


def test_no_reason_where_all_is_well() -> None:
    assert reasons.reason("None", "RUNNING") is None
    assert reasons.reason("None", "REQUEUED") is None


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ("sbatch: error: You must specify an account with -A", "account"),
        (
            "sbatch: error: QOSMaxWallDurationPerJobLimit\nsbatch: error: Job violates (job submit limit)",
            "shorter",
        ),
        (
            "sbatch: error: AssocMaxSubmitJobLimit\nsbatch: error: Job violates (job submit limit)",
            "Wait until",
        ),
    ],
)
def test_the_hint_is_of_slurms_own_code(words: str, hint: str) -> None:
    assert hint in reasons.refusal(words)[1]


def test_a_controller_that_is_slow_may_have_the_job() -> None:
    assert reasons.is_unsure("sbatch: error: Socket timed out on send/recv operation")
    assert reasons.is_unsure("sbatch: error: Unable to contact slurm controller (connect failure)")
    assert not reasons.is_unsure("sbatch: error: Invalid account or partition")


def test_refusals_keep_the_schedulers_words() -> None:
    message, hint = reasons.refusal(
        "sbatch: error: Batch job submission failed: Invalid account or partition\n"
    )
    assert message == "Slurm refuses: Batch job submission failed: Invalid account or partition."
    assert "account" in hint


def test_the_end_of_a_jobs_time() -> None:
    now = time.time()
    local = datetime.fromtimestamp(int(now) + 3600).isoformat()
    assert allocation_end.end_time(local, now) == int(now) + 3600
    assert allocation_end.end_time(str(int(now) + 60), now) == int(now) + 60
    far = datetime.fromtimestamp(now + 40 * 366 * 86400).isoformat()
    for none in ("NONE", "N/A", "Unknown", "", "0", "4294967294", far):
        assert allocation_end.end_time(none, now) is None


def test_the_limit_is_in_the_sentence_where_it_is_near() -> None:
    said = Summary("ready", {}, "Ready. 2 ranks wait for a cell.")
    assert soon(said, None, 1000.0) == said
    assert soon(said, 1000.0 + 601, 1000.0) == said
    near = soon(said, 1000.0 + 95, 1000.0)
    assert near.text == "Ready. 2 ranks wait for a cell. Its allocation ends in 1 min 35 s."
    assert near.code == "ready"


@pytest.mark.parametrize(
    ("after", "words"),
    [(None, []), ("7", ["--dependency=afterok:7", "--kill-on-invalid-dep=yes"])],
)
async def test_the_command_that_is_shown_is_the_one_that_submits(after: str | None, words: list[str]) -> None:
    ran: list[Sequence[str]] = []

    class Commands:
        async def write(self, *_: Any) -> None: ...

        async def run(self, command: Sequence[str], **_: Any) -> Done:
            ran.append(command)
            return Done(0, b"8\n", "")

    job = job_scripts.record(Profile(backend="slurm"), 1, 1)
    job = replace(job, request=replace(job.request, after=after))
    commands: Any = Commands()

    async def sooner() -> tuple[()]:
        return ()

    handle = await BatchJob(job, commands, Queue(commands, lambda: 30.0), sooner).start({})
    assert handle.job == "8"
    assert ran == [shlex.split(SlurmBackend().command(job))]
    assert ran[0] == ["sbatch", "--parsable", *words, f"{job.directory}/{BATCH}"]
