"""Plans of jobs with other frameworks than torch, as values and golden files."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import msgspec
import pytest

from dtrain_lab.backends import script, script_lines
from dtrain_lab.backends.slurm.script import batch
from dtrain_lab.errors import BadProfile, BadRequest, BadSize
from dtrain_lab.head.nodes.job_attempts import attempt
from dtrain_lab.jobs.check.frameworks import TensorFlowUse
from dtrain_lab.jobs.notebook.script import convert
from dtrain_lab.jobs.notebook.source import Cell
from dtrain_lab.metrics.estimates import without_communication, world_metrics
from dtrain_lab.placement import profile as profiles
from dtrain_lab.placement.frameworks import adapter, ascend, mindspore, tensorflow
from dtrain_lab.placement.frameworks.ranks import ports, variables
from dtrain_lab.placement.frameworks.started import Started
from dtrain_lab.placement.overrides import as_asked
from dtrain_lab.services.plans.job_layout import ranks_per_node
from dtrain_lab.services.plans.requests.request import launcher
from dtrain_lab.services.policy import backends
from dtrain_lab.wire.jobs.framework import FrameworkPlan
from dtrain_lab.wire.jobs.job import JobRequest
from dtrain_lab.wire.kinds import Strategy
from dtrain_lab.wire.links import RankMetrics, RankSample
from dtrain_lab.wire.profile import Network, Profile, Slurm
from tests.unit.backends.job_scripts import GOLDEN, record

LOCAL = Started(("127.0.0.1", "127.0.0.1"), 1, 20000)
SSH = Started(("10.0.0.1", "10.0.0.2"), 2, 20000)
SLURM = Started(("gpu-01", "gpu-02"), 4, 21003)
PLANS: dict[str, tuple[FrameworkPlan, Started]] = {
    "tensorflow_workers_local": (tensorflow.plan("multi_worker_mirrored", 2), LOCAL),
    "tensorflow_workers_ssh": (tensorflow.plan("multi_worker_mirrored", 4), SSH),
    "tensorflow_workers_slurm": (tensorflow.plan("multi_worker_mirrored", 8), SLURM),
    "tensorflow_servers_ssh": (tensorflow.plan("parameter_server", 4), SSH),
    "tensorflow_servers_evaluator_slurm": (tensorflow.plan("parameter_server", 8, evaluates=True), SLURM),
    "tensorflow_mirrored": (tensorflow.plan("mirrored", 1), Started(("127.0.0.1",), 1, 20000)),
    "tensorflow_central_storage": (tensorflow.plan("central_storage", 1), Started(("127.0.0.1",), 1, 20000)),
    "mindspore_local": (FrameworkPlan("mindspore"), LOCAL),
    "mindspore_slurm": (FrameworkPlan("mindspore"), Started(("10.0.0.1", "10.0.0.2"), 8, 21003)),
}
NPU = Profile(
    backend="slurm",
    accelerator="npu",
    slurm=Slurm("npu", time="02:00:00"),
    network=Network(interface="eth0", ports="21000-21099", rank_table="/etc/hccl.json"),
    name="ascend",
)
QUEUE = Profile(backend="slurm", framework="tensorflow", name="queue")


def of(profile: Profile, framework: FrameworkPlan | None, **more: Any) -> Any:
    made = record(profile, 2, 2, framework=framework, **more)
    plan = msgspec.structs.replace(made.plan, interface=profile.network.interface)
    return msgspec.structs.replace(made, plan=plan)


WORKERS = tensorflow.plan("multi_worker_mirrored", 4)
SCRIPTS = {
    "job_tensorflow_local": script.on_hosts(of(Profile(), WORKERS, launcher="agents"), None),
    "job_tensorflow_host": script.on_hosts(
        of(Profile(backend="ssh"), WORKERS, launcher="agents"), 1, address="10.0.0.1"
    ),
    "job_tensorflow_slurm": batch(of(QUEUE, WORKERS)),
    "job_mindspore_slurm": batch(of(QUEUE, FrameworkPlan("mindspore"))),
    "job_npu_slurm": batch(of(NPU, None)),
    "job_npu_local": script.on_hosts(of(Profile(accelerator="npu"), None, launcher="agents"), None),
}


def lines(plan: FrameworkPlan, started: Started) -> str:
    """All variables of a plan's ranks, as a golden file has them."""
    ranks = [variables(plan, started, rank) for rank in range(started.size)]
    told: dict[str, Any] = {"roles": list(plan.roles)}
    if plan.name == "mindspore":
        told["scheduler"] = mindspore.scheduler(started)
    told["ranks"] = [
        {name: json.loads(value) if name == "TF_CONFIG" else value for name, value in one.items()}
        for one in ranks
    ]
    return json.dumps(told, indent=1) + "\n"


@pytest.mark.parametrize("name", PLANS)
def test_variables_of_ranks_are_as_they_were(name: str) -> None:
    path = GOLDEN / "frameworks" / f"{name}.json"
    made = lines(*PLANS[name])
    assert path.exists(), f"new? Write it to {path}:\n{made}"
    assert path.read_text() == made, f"changed on purpose? Write it to {path}"


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_are_as_they_were(name: str) -> None:
    path = GOLDEN / f"{name}.sh"
    assert path.exists(), f"new? Write it to {path}:\n{SCRIPTS[name]}"
    assert path.read_text() == SCRIPTS[name], f"changed on purpose? Write it to {path}"
    subprocess.run(["bash", "-n", str(path)], check=True)


def test_the_script_on_npus_is_as_it_was() -> None:
    path = GOLDEN / "frameworks" / "npu_main.txt"
    cell = Cell("[1]", "a", "model = torch.nn.Linear(2, 2).to(device)")
    made = convert([cell], title="train.ipynb", accelerator="npu").text
    assert path.exists(), f"new? Write it to {path}:\n{made}"
    assert path.read_text() == made


@pytest.mark.parametrize(
    ("size", "evaluates", "roles"),
    [
        (3, False, "chief worker ps"),
        (4, False, "chief worker worker ps"),
        (4, True, "chief worker ps evaluator"),
        (6, False, "chief worker worker worker worker ps"),
        (7, False, "chief worker worker worker worker ps ps"),
        (12, True, "chief worker worker worker worker worker worker worker worker ps ps evaluator"),
    ],
)
def test_roles_follow_the_size(size: int, evaluates: bool, roles: str) -> None:
    made = tensorflow.plan("parameter_server", size, evaluates=evaluates)
    assert " ".join(made.roles) == roles
    assert [made.serves(rank) for rank in range(size)] == [r in ("worker", "ps") for r in made.roles]


def test_parameter_servers_need_three_ranks() -> None:
    with pytest.raises(BadSize, match="3 ranks or more, not 2"):
        tensorflow.plan("parameter_server", 2)


ALL = "all of them"


@pytest.mark.parametrize(
    ("strategy", "ranks", "gpus", "wanted"),
    [
        (None, 2, "0 1 2 3", ["0 1", "2 3"]),
        (None, 2, "4 7", ["4", "7"]),
        (None, 1, "0 1", [ALL]),
        (None, 2, "", [ALL, ALL]),
        (None, 3, "4 7", ["4 shared", "7 shared", "4 shared"]),
        ("parameter_server", 3, "0 1", ["0", "1", ""]),  # chief, worker, and a server that computes nothing
        ("parameter_server", 4, "0 1 2 3 4 5", ["0 1", "2 3", "4 5", ""]),
        ("parameter_server", 3, "5", ["5 shared", "5 shared", ""]),
        ("mirrored", 1, "0 1", [ALL]),
        ("mirrored", 2, "0 1", ["0", "1"]),
    ],
)
def test_each_rank_sees_its_share_of_the_gpus(
    strategy: Strategy | None, ranks: int, gpus: str, wanted: list[str]
) -> None:
    plan = tensorflow.plan(strategy, ranks)
    shares = [tensorflow.own_gpus(plan, gpus.split(), rank, ranks) for rank in range(ranks)]
    said = [ALL if s is None else " ".join([*s.gpus, *["shared"] * s.shared]) for s in shares]
    assert said == wanted


def test_gpus_are_shared_by_the_ranks_of_their_node() -> None:
    servers = tensorflow.plan("parameter_server", 4)  # chief and worker, worker and ps
    of_node_1 = [tensorflow.own_gpus(servers, ("0", "1"), rank, 2) for rank in (2, 3)]
    assert of_node_1 == [None, tensorflow.Share(())], "the only one that computes there has both"


def test_a_strategy_of_one_process_has_one_rank_a_node_unless_told_otherwise() -> None:
    asked, usual = JobRequest("nb.ipynb"), Profile()
    mirrored, workers = TensorFlowUse("mirrored"), TensorFlowUse("multi_worker_mirrored")
    assert ranks_per_node(asked, usual, one_process=mirrored.one_process) == 1
    assert ranks_per_node(asked, usual, one_process=workers.one_process) is None
    two = msgspec.structs.replace(asked, ranks_per_node=2)
    assert ranks_per_node(two, usual, one_process=TensorFlowUse("central_storage").one_process) == 2
    assert adapter.plan("torch", None, 2) is None


def test_ports_of_all_ranks_stay_in_the_range() -> None:
    made = record(Profile(network=Network(ports="21000-21029")), 2, 2, framework=WORKERS)
    assert script_lines.allowed_ports(made) == range(21000, 21027)
    assert (ports(WORKERS, 4), ports(FrameworkPlan("mindspore"), 4), ports(None, 4)) == (4, 1, 1)
    few = record(Profile(network=Network(ports="21000-21029")), 2, 16, framework=tensorflow.plan(None, 32))
    with pytest.raises(BadProfile, match="30 ports; each of this job's 32 ranks needs one"):
        script_lines.allowed_ports(few)


def test_several_free_ports_are_found_in_a_row() -> None:
    import socket

    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        taken = listening.getsockname()[1]
        line = f"port={taken - 1}; {script_lines.next_free(range(taken - 1, taken + 20), 3)}; echo $port"
        done = subprocess.run(["bash", "-c", line], capture_output=True, check=True)
    assert int(done.stdout) > taken


# ---- names


@pytest.mark.parametrize(
    ("name", "near"), [("tensorfow", "tensorflow"), ("PyTorch", "torch"), ("mindspor", "mindspore")]
)
def test_a_wrong_name_is_answered_with_the_nearest(name: str, near: str) -> None:
    with pytest.raises(BadRequest, match=f'no framework "{name}"') as error:
        as_asked(Profile(), JobRequest("nb.ipynb", framework=name), backends.backend("local").traits)
    assert error.value.hint == f"Did you mean {near}? Use one of torch, tensorflow, mindspore."
    assert error.value.details["field"] == "framework"
    with pytest.raises(BadProfile) as wrong:
        profiles.parse(f'nodes = 1\nframework = "{name.lower()}"\n', "p", "p.toml")
    if near != name.lower():
        assert "Use one of torch, tensorflow, mindspore." in wrong.value.hint
    assert wrong.value.details["line"] == 2


def test_the_request_wins_over_the_profile_and_torchrun_starts_no_other_framework() -> None:
    traits = backends.backend("slurm").traits
    asked = JobRequest("nb.ipynb", framework="mindspore")
    wanted = as_asked(backends.backend("slurm").as_asked(QUEUE, asked), asked, traits)
    assert wanted.framework == "mindspore"
    assert launcher(asked, wanted, backends.backend("slurm")) == "srun"
    by_profile = msgspec.structs.replace(wanted, slurm=Slurm(launcher="torchrun"))
    assert launcher(asked, by_profile, backends.backend("slurm")) == "srun"
    with pytest.raises(BadRequest, match="torchrun starts ranks of PyTorch"):
        launcher(JobRequest("nb.ipynb", launcher="torchrun"), QUEUE, backends.backend("slurm"))


# ---- what else depends on the framework


def test_a_script_of_another_framework_makes_no_torch_group() -> None:
    cell = Cell("[1]", "a", "import tensorflow as tf\nwith tf.device('CPU:0'): pass")
    text = convert([cell], title="t.ipynb", framework="tensorflow").text
    assert "torch" not in text
    assert "TF_CONFIG" in text.splitlines()[1]


@pytest.mark.parametrize(
    ("keys", "title"), [({"framework": "mindspore"}, "MindSpore"), ({"accelerator": "npu"}, "Ascend NPUs")]
)
def test_clusters_are_of_torch(keys: dict[str, Any], title: str) -> None:
    adapter.check_cluster(Profile(framework="torch"))
    with pytest.raises(BadProfile, match=f"is for {title}"):
        adapter.check_cluster(Profile(**keys))


def test_an_attempt_is_over_when_all_but_those_that_serve_have_ended() -> None:
    ends = {0: attempt.RankReport(0, 0, 0.0), 1: attempt.RankReport(0, None, 0.0)}
    assert attempt.attempt_state(ends, 2, 0, 0.0, failed=False) == "runs"
    assert attempt.attempt_state(ends, 2, 0, 0.0, failed=False, serving=frozenset({1})) == "done"


def test_of_communication_that_is_not_seen_nothing_is_claimed() -> None:
    known = RankMetrics(steps_per_s=10.0, samples_per_s=160.0, step_s=0.1, exposed_s=0.0, data_s=0.0)
    fields = msgspec.structs.asdict(without_communication(known))
    metrics = world_metrics([RankSample(rank=rank, **fields) for rank in (0, 1)], 2, False)
    assert (metrics.samples_per_s, metrics.step_s) == (320.0, 0.1)
    assert metrics.comm_overhead is metrics.slowest_rank is metrics.skew_s is metrics.data_s is None


def test_npus_are_named_to_processes_where_no_scheduler_does_so() -> None:
    made = of(msgspec.structs.replace(NPU, backend="local"), None).plan
    local = ascend.variables(NPU, msgspec.structs.replace(made, traits=backends.backend("local").traits))
    assert local["ASCEND_RT_VISIBLE_DEVICES"] == "0,1"
    assert local["RANK_TABLE_FILE"] == "/etc/hccl.json"
    assert ascend.variables(Profile(), made) == {}
