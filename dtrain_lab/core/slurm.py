"""Slurm as values: what it offers, what is asked of it, what its words mean. Nothing is run."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from datetime import datetime

from msgspec.structs import replace

from dtrain_lab.core import command
from dtrain_lab.core.cluster import Reason
from dtrain_lab.core.plan import NodeFacts, Partition, Plan, Request, SlurmFacts
from dtrain_lab.core.profile import Profile
from dtrain_lab.core.spread import make_plan, room, spread, usual
from dtrain_lab.errors import BadProfile, BadSize

WARN_S = 60
"""Before its end a world asks when that is; a preempted one is told so at once, where the site does that."""
SINFO = "%P|%N|%t|%c|%m|%G|%l"
"""Format of `sinfo -h -N`: a line a node and partition."""
SQUEUE = "%i|%T|%r|%S|%N|%k"
"""Format of `squeue -h`: id, state, reason, expected start, nodes, comment."""
STEP = (
    "${!SLURM_STEP*} SLURM_NTASKS SLURM_NPROCS SLURM_NNODES SLURM_TASKS_PER_NODE SLURM_NTASKS_PER_NODE "
    "SLURM_CPUS_PER_TASK SLURM_NODEID SLURM_PROCID SLURM_LOCALID SLURM_CPU_BIND ${!SLURM_CPU_BIND_*} "
    "SLURM_NODELIST SLURM_JOB_NODELIST SLURM_JOB_NUM_NODES SLURM_DISTRIBUTION SLURM_OVERCOMMIT"
)
"""Variables of a step, which a step inside it would obey."""
GONE = ("down", "drain", "drng", "fail", "maint", "unk", "futr", "pow_dn")
WORDS: dict[str, tuple[str, str, bool]] = {
    "Resources": ("It waits for nodes to become free.", "", False),
    "Priority": ("Jobs with a higher priority are ahead of it.", "", False),
    "Dependency": ("It waits for another job.", "", False),
    "BeginTime": ("Its begin time has not come.", "", False),
    "ReqNodeNotAvail": ("A node that it needs is down or reserved.", "Ask for other nodes, or wait.", False),
    "PartitionDown": ("The partition is down.", "Choose another partition.", False),
    "PartitionInactive": ("The partition takes no jobs now.", "Choose another partition.", False),
    "PartitionNodeLimit": (
        "The partition does not give one job so many nodes.",
        "Ask for fewer nodes, or choose another partition.",
        True,
    ),
    "PartitionTimeLimit": (
        "It asks for more time than the partition allows.",
        "Set a shorter [slurm] time, or choose another partition.",
        True,
    ),
    "PartitionConfig": ("The partition has no such nodes.", "Check [slurm] gres and nodes.", True),
    "AssocGrpCpuLimit": ("Your group uses all the CPUs it may.", "", False),
    "AssocGrpGRES": ("Your group uses all the GPUs it may.", "", False),
    "AssocMaxJobsLimit": ("You run as many jobs as you may.", "", False),
    "QOSMaxJobsPerUserLimit": ("You run as many jobs as this QOS allows.", "", False),
    "QOSMaxCpuPerUserLimit": ("You use all the CPUs that this QOS allows.", "", False),
    "QOSGrpNodeLimit": ("All nodes of this QOS are in use.", "", False),
    "InvalidAccount": ("Slurm does not know the account.", "Set [slurm] account.", True),
    "InvalidQOS": ("Slurm does not know the QOS, or you may not use it.", "Set [slurm] qos.", True),
    "BadConstraints": ("No node has what is asked for.", "Check [slurm] constraint.", True),
    "JobHeldUser": ("It is held by you.", "Release it: scontrol release JOB", False),
    "JobHeldAdmin": ("It is held by an administrator.", "Ask them why.", False),
    "Licenses": ("It waits for a licence.", "", False),
    "Reservation": ("It waits for its reservation.", "", False),
    "NonZeroExitCode": ("It ended with an error.", "Its log has the details.", True),
    "TimeLimit": ("Its time was over.", "Set a longer [slurm] time.", True),
    "NodeDown": ("A node went down.", "Start it again.", True),
    "OutOfMemory": ("It needed more memory than it asked for.", "Raise memory_per_node.", True),
}


def time_s(text: str) -> int | None:
    """Slurm's times ("5", "5:30", "02:00:00", "1-00", "1-12:00:00"); None for "infinite".

    Raises:
        BadProfile: it is none of them.
    """
    if text.lower() in ("infinite", "unlimited", "n/a"):
        return None
    match = re.fullmatch(r"(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?", text)
    if match is None:
        raise BadProfile(
            f'[slurm] time: "{text}" is no time.',
            'Write it as "02:00:00" or "1-00:00:00".',
            details={"field": "time"},
        )
    days, first, second, third = (int(g) if g else None for g in match.groups())
    if days is not None:  # days-hours[:minutes[:seconds]]
        return days * 86400 + (first or 0) * 3600 + (second or 0) * 60 + (third or 0)
    if third is not None:
        return (first or 0) * 3600 + (second or 0) * 60 + third
    return (first or 0) * 60 + (second or 0)


def time_text(seconds: int) -> str:
    """A time as Slurm writes it: "1-00:00:00", "02:00:00"."""
    days, rest = divmod(seconds, 86_400)
    clock = f"{rest // 3600:02d}:{rest // 60 % 60:02d}:{rest % 60:02d}"
    return f"{days}-{clock}" if days else clock


def gpus_of(gres: str) -> int:
    """GPUs in a GRES: "gpu:4", "gpu:a100:4(S:0-1)", "(null)"."""
    found = re.findall(r"(?:^|,)gpu(?::[^:,()]+)?:(\d+)", gres)
    return sum(map(int, found))


def gpu_kind(gres: str) -> str:
    """Kind of the GPUs in a GRES: "a100" of "gpu:a100:4"; empty where it names none."""
    found = re.search(r"(?:^|,)gpu:([^:,()]*[^\d:,()][^:,()]*)", gres)
    return found[1] if found else ""


def partitions(lines: Iterable[str]) -> tuple[Partition, ...]:
    """What `sinfo` says; nodes that are down or drained are left out."""
    nodes: dict[str, list[NodeFacts]] = {}
    limits: dict[str, tuple[int | None, bool]] = {}
    for line in lines:
        parts = line.strip().split("|")
        if len(parts) != len(SINFO.split("|")):
            continue
        partition, node, state, cpus, memory, gres, limit = parts
        name = partition.rstrip("*")
        limits[name] = (time_s(limit), partition.endswith("*"))
        nodes.setdefault(name, [])
        if not state.lower().startswith(GONE):
            mib = int(re.sub(r"\D", "", memory) or 0)
            nodes[name].append(NodeFacts(node, "", int(cpus), gpus_of(gres), mib << 20))
    return tuple(Partition(name, tuple(nodes[name]), *limits[name]) for name in nodes)


def plan_slurm(profile: Profile, request: Request, facts: SlurmFacts, *, python: str, directory: str) -> Plan:
    """Plan a world of a partition's nodes; which ones, the scheduler says later.

    Raises:
        BadProfile: the partition is not there, or the time is none.
        BadSize: the partition can never run it.
    """
    partition = _partition(profile, facts)
    rooms = [room(node, profile) for node in partition.nodes]
    place = f"partition {partition.name}"
    sample = partition.nodes[0] if partition.nodes else NodeFacts("", "", 1, 0, 0)
    nodes, per_node = spread(request, profile, rooms, usual(sample), place)
    asked = time_s(profile.slurm.time) if profile.slurm.time else None
    if asked is not None and partition.time_s is not None and asked > partition.time_s:
        limit = time_text(partition.time_s)
        raise BadSize(
            f"This would never start: {place} ends jobs at {limit}, and {profile.slurm.time} is asked for.",
            f"Ask for at most {limit}.",
            code="too_long",
            details={"field": "time", "value": limit},
        )
    fitting = [n for n, has in zip(partition.nodes, rooms, strict=True) if has >= per_node]
    memory = _mib(profile.memory_per_node)
    if memory is not None and fitting and memory << 20 > max(n.memory_bytes for n in fitting):
        most = max(n.memory_bytes for n in fitting) >> 30
        raise BadSize(
            f"memory_per_node = {profile.memory_per_node} is more than the nodes of {place} have.",
            f"Ask for at most {most}G.",
            code="too_much_memory",
            details={"field": "profile"},
        )
    unnamed = [
        NodeFacts(f"node {index + 1}", "", node.cpus, node.gpus, node.memory_bytes)
        for index, node in enumerate(fitting[:nodes])
    ]
    # a good neighbour takes the share of the cores that goes with its GPUs, and a core a rank without
    cpus = profile.cpus_per_rank or (max(1, sample.cpus // sample.gpus) if sample.gpus else 1)
    shared = replace(profile, cpus_per_rank=cpus)
    return make_plan(shared, request, unnamed, per_node, python=python, directory=directory)


def _partition(profile: Profile, facts: SlurmFacts) -> Partition:
    wanted = profile.slurm.partition
    for partition in facts.partitions:
        if partition.name == wanted or (wanted is None and partition.default):
            return partition
    names = ", ".join(p.name for p in facts.partitions) or "none"
    if wanted is None:
        raise BadProfile(
            "Slurm has no default partition.",
            f"Set [slurm] partition to one of: {names}.",
            details={"field": "partition"},
        )
    raise BadProfile(
        f'Slurm has no partition "{wanted}".',
        f"It has: {names}.",
        code="no_partition",
        details={"field": "partition"},
    )


def _mib(text: str | None) -> int | None:
    if text is None:
        return None
    match = re.fullmatch(r"(\d+)([KMGT]?)B?", text.strip(), re.IGNORECASE)
    if match is None:
        raise BadProfile(f'memory_per_node: "{text}" is no size.', 'Write it as "64G".')
    scale = {"K": 1 / 1024, "": 1, "M": 1, "G": 1024, "T": 1024 * 1024}
    return int(int(match[1]) * scale[match[2].upper()])


def cpus_per_node(plan: Plan) -> int:
    """CPUs of one task a node: those of all its ranks."""
    return (plan.cpus_per_rank or 1) * plan.nodes[0].ranks


def directives(plan: Plan, profile: Profile, *, identity: str, name: str, log: str) -> list[str]:
    """Options of `sbatch`.

    Raises:
        BadProfile: a value has a line break in it.
    """
    slurm, node = profile.slurm, plan.nodes[0]
    gres = slurm.gres or (f"gpu:{node.ranks}" if node.gpus else None)
    options = {
        "job-name": f"dtrain-{name}",
        "comment": f"dtl:{identity}",
        "nodes": str(len(plan.nodes)),
        "ntasks-per-node": "1",
        "cpus-per-task": str(cpus_per_node(plan)),
        "mem": profile.memory_per_node,
        "mem-per-cpu": slurm.memory_per_cpu,
        "partition": slurm.partition,
        "account": slurm.account,
        "qos": slurm.qos,
        "constraint": slurm.constraint,
        "gres": gres,
        "time": slurm.time,
        "output": log,
    }
    written = [f"--{key}={shlex.quote(value)}" for key, value in options.items() if value is not None]
    written += slurm.options
    # a world that ended is not begun again unasked
    written += [] if "--requeue" in slurm.options else ["--no-requeue"]
    for option in written:
        if re.search(r"[\n\r\0]", option):
            raise BadProfile(f"{option!r} has a line break in it.", "Write it in one line.")
    return written


def script(plan: Plan, profile: Profile, *, identity: str, name: str, folder: str) -> str:
    """The batch script of a cluster: head on the first node, an agent on each, under one srun.

    Readable, and runs by hand with `sbatch`.

    Args:
        plan: of the world.
        profile: that it comes from.
        identity: of the world; found again by it.
        name: of the cluster.
        folder: of the world, on a file system that all nodes share.
    """
    python = shlex.join([*command.python(profile.environment, plan.python), "-P", "-m"])
    place = shlex.quote(folder)
    inside = profile.slurm.allocation not in (None, "new")
    overlap = "--overlap --relative=0 " if inside else ""
    shell = "#!/bin/bash -l" if command.login_needed(profile.environment) else "#!/bin/bash"
    options = directives(plan, profile, identity=identity, name=name, log=f"{folder}/slurm.log")
    options.append(f"--signal=B:USR2@{WARN_S}")
    lines = [
        shell,
        *(f"#SBATCH {option}" for option in options),
        "umask 077",
        "# what the submission's shell had belongs to it",
        "unset ${!SLURM_EXPORT*} ${!PMI*}",
        *(["# and so has the step that this runs in", f"unset {STEP}"] if inside else []),
        *command.lines(profile.environment, plan.variables),
        "",
        "trap '' USR2  # until the head listens for it",
        "# the head of the world; it says in a file where it listens, and ends with the world",
        f"{python} dtrain_lab.head {place}/head.json &",
        "head=$!",
        "trap 'kill -USR2 $head' USR2  # the time is nearly over, or another job takes the nodes: it asks",
        "# one agent a node, with the CPUs of all its ranks",
        f"srun {overlap}--nodes={len(plan.nodes)} --ntasks={len(plan.nodes)} --ntasks-per-node=1 "
        f"--cpus-per-task={cpus_per_node(plan)} --kill-on-bad-exit=0 \\",
        f"  {python} dtrain_lab.node join {place}/endpoints.json &",
        "# a signal ends `wait`, not the head",
        'while :; do wait "$head"; code=$?; kill -0 "$head" 2> /dev/null || break; done',
        "wait",
        "exit $code",
    ]
    return "\n".join(lines) + "\n"


def reason(code: str, state: str) -> Reason | None:
    """Why a job waits, or how it ended, in words.

    Args:
        code: Slurm's reason.
        state: Slurm's state of the job.
    """
    plain = code.strip("()").split(",")[0]
    if plain in ("None", "") and state in ("PENDING", "RUNNING", "COMPLETING", "CONFIGURING", "COMPLETED"):
        return None
    if plain in WORDS:
        message, hint, final = WORDS[plain]
        return Reason(plain, message, hint, final=final)
    if "Minutes" in plain:  # AssocGrpCPUMinutesLimit, AssocGrpGRESMinutes, QOSGrpGRESRunMinutes …
        whose = "QOS" if plain.startswith("QOS") else "account"
        message = f"It may take more hours than your {whose} has left."
        return Reason(plain, message, "Ask for less time or fewer nodes, or use another account.")
    if state in ("TIMEOUT", "PREEMPTED", "NODE_FAIL", "OUT_OF_MEMORY", "CANCELLED", "FAILED"):
        told = {
            "TIMEOUT": ("Its time was over.", "Set a longer [slurm] time."),
            "PREEMPTED": ("A job of higher priority took its nodes.", "Start it again."),
            "NODE_FAIL": ("A node failed.", "Start it again."),
            "OUT_OF_MEMORY": ("It needed more memory than it asked for.", "Raise memory_per_node."),
            "CANCELLED": ("It was cancelled.", ""),
            "FAILED": ("It ended with an error.", "Its log has the details."),
        }[state]
        return Reason(state.lower(), *told, final=True)
    return Reason(plain, f"Slurm says: {plain}.", "")


def said(words: str) -> str:
    """The last line of what a command of Slurm says, without its own name."""
    lines = [line.strip() for line in words.splitlines() if line.strip()]
    last = re.sub(r"^[a-z]+: ((error|fatal): )?", "", lines[-1]) if lines else "it gave no reason"
    return last.rstrip(".")


def test_start(words: str) -> float | None:
    """When a job would start, from the words of `sbatch --test-only`: seconds since 1970."""
    match = re.search(r"to start at (\S+)", words)
    try:
        return datetime.fromisoformat(match[1]).timestamp() if match else None
    except ValueError:
        return None


FAR_S = 2 * 366 * 86_400.0
"""An end that is farther away is none: a partition without a limit has one in a year or later."""


def end_time(text: str, now: float) -> float | None:
    """When a job's time is over, seconds since 1970; None where nothing ends it.

    Args:
        text: Slurm's, as a number or in local time; "NONE", "N/A" or "Unknown" where there is no end.
        now: seconds since 1970.
    """
    try:
        at = float(text) if text.isdigit() else datetime.fromisoformat(text).timestamp()
    except ValueError:
        return None
    return at if 0 < at - now < FAR_S else None


def refusal(words: str) -> tuple[str, str]:
    """What `sbatch` says where it refuses, and what to do."""
    lines = [line for line in words.splitlines() if "error" in line.lower()] or words.splitlines()
    why = said("\n".join(lines))
    for part, hint in (
        ("account", "Set [slurm] account in the profile."),
        ("partition", "Set [slurm] partition in the profile."),
        ("qos", "Set [slurm] qos in the profile."),
        ("generic resource", "Set [slurm] gres in the profile."),
        ("node configuration", "Ask for fewer nodes, CPUs or GPUs, or less memory."),
        ("time limit", "Set a shorter [slurm] time in the profile."),
    ):
        if part in why.lower():
            return f"Slurm refuses: {why}.", hint
    return f"Slurm refuses: {why}.", "Check [slurm] in the profile."
