"""The batch script of a cluster or a job, rendered as text that users can read and submit with `sbatch`.

A cluster runs its head on the first node, and a node agent on each node under one srun. A job's ranks are
started by `srun` alone (each task is a rank), or by `srun torchrun` (one torchrun agent per node).
"""

from __future__ import annotations

import re
import shlex

from dtrain_lab.backends import script_lines
from dtrain_lab.backends.slurm import allocation
from dtrain_lab.errors import BadProfile
from dtrain_lab.jobs import environment_variables
from dtrain_lab.jobs import file_names as job_files
from dtrain_lab.placement import activation
from dtrain_lab.placement.frameworks import ascend
from dtrain_lab.placement.frameworks import names as frameworks
from dtrain_lab.wire.jobs.job import JobRecord
from dtrain_lab.wire.plan import NodePlan, Plan
from dtrain_lab.wire.processes.submission import ClusterRecord, Submission
from dtrain_lab.wire.profile import Profile

REQUEUE = "--requeue"
NODE = "SLURM_NODEID"
"""Variable with the index of a step's node."""
INTERFACES_WITHIN_S = 30
"""A step that can't start, such as on a node that hangs, must not use up the time of the whole job."""
KILL_S = 2
"""Seconds: sites set the time from a job's cancellation to SIGKILL, after which a copy would be left."""
LEFT = f"{job_files.EXIT} {job_files.PREEMPTED} {job_files.WARNED} failed.* finished.* error.*.json .once.*"
"""How a run ended. Each run counts attempts from 0: a failed one's marker would end the next run's ranks."""
STEP = (
    "${!SLURM_STEP*} SLURM_NTASKS SLURM_NPROCS SLURM_NNODES SLURM_TASKS_PER_NODE SLURM_NTASKS_PER_NODE "
    "SLURM_CPUS_PER_TASK SLURM_NODEID SLURM_PROCID SLURM_LOCALID SLURM_CPU_BIND ${!SLURM_CPU_BIND_*} "
    "SLURM_NODELIST SLURM_JOB_NODELIST SLURM_JOB_NUM_NODES SLURM_DISTRIBUTION SLURM_OVERCOMMIT"
)
"""Variables of the enclosing step, unset because a nested step would obey them."""


def batch(submission: Submission) -> str:
    """Return the batch script.

    Raises:
        BadProfile: A value contains a line break.
    """
    if isinstance(submission, JobRecord):
        inside, body = False, [*_job(submission), *_job_steps(submission)]
    else:
        inside = allocation.used(submission.profile)
        body = _cluster(submission, inside=inside)
    lines = [
        script_lines.shebang(submission),
        *(f"#SBATCH {option}" for option in directives(submission)),
        script_lines.title(submission),
        f"folder={shlex.quote(submission.directory)}",
        'cd "$folder" || exit 1',
        "umask 077",
        "# what the submission's shell had belongs to it",
        "unset ${!SLURM_EXPORT*} ${!PMI*}",
        *(["# and so has the step that this runs in", f"unset {STEP}"] if inside else []),
        *body,
    ]
    return "\n".join(lines) + "\n"


def directives(submission: Submission) -> list[str]:
    """Return the `#SBATCH` options.

    Raises:
        BadProfile: A value contains a line break.
    """
    plan, profile = submission.plan, submission.profile
    slurm, node = profile.slurm, plan.nodes[0]
    by_rank = submission.launcher == "srun"
    options = {
        "job-name": f"dtrain-{submission.name}",
        "comment": f"dtl:{submission.id}",
        "nodes": str(len(plan.nodes)),
        "ntasks-per-node": str(node.ranks if by_rank else 1),
        "cpus-per-task": str(_cpus_per_rank(plan) if by_rank else _cpus_per_node(plan)),
        "mem": profile.memory_per_node,
        "mem-per-cpu": slurm.memory_per_cpu,
        "partition": slurm.partition,
        "account": slurm.account,
        "qos": slurm.qos,
        "constraint": slurm.constraint,
        "gres": slurm.gres or _devices(profile, node),
        "time": slurm.time,
        "output": f"{submission.directory}/{job_files.LAUNCHER_LOG}.log",
    }
    written = [f"--{key}={shlex.quote(value)}" for key, value in options.items() if value is not None]
    written += slurm.options
    # no requeue: a world must not restart unless the user asks for it
    written += [] if REQUEUE in slurm.options else ["--no-requeue"]
    if submission.warn_s:  # also without a time limit: its partition may have one; it may be preempted
        written.append(f"--signal=B:USR2@{int(submission.warn_s)}")
    if submission.mail is not None:
        written += [f"--mail-user={shlex.quote(submission.mail)}", "--mail-type=BEGIN,END,FAIL"]
    for option in written:
        if re.search(r"[\n\r\0]", option):
            raise BadProfile(f"{option!r} has a line break in it.", "Write it in one line.")
    return written


def _devices(profile: Profile, node: NodePlan) -> str | None:
    """Return the GRES of a node: a device for each of its ranks, if it has any."""
    if ascend.used(profile):
        return f"npu:{node.ranks}"
    return f"gpu:{node.ranks}" if node.gpus else None


def _cpus_per_rank(plan: Plan) -> int:
    return plan.cpus_per_rank or 1


def _cpus_per_node(plan: Plan) -> int:
    """Return the CPUs of one task per node: those of all its ranks."""
    return _cpus_per_rank(plan) * plan.nodes[0].ranks


def _cluster(cluster: ClusterRecord, *, inside: bool) -> list[str]:
    plan, python = cluster.plan, script_lines.python_of(cluster)
    overlap = f"--overlap --relative=0 --job-name={allocation.step_name(cluster)} " if inside else ""
    return [
        *activation.lines(cluster.profile.environment, plan.variables),
        "",
        "trap '' USR2  # until the head listens for it",
        "# the head of the world; it says in a file where it listens, and ends with the world",
        f'{python} dtrain_lab.head "$folder/{job_files.HEAD}" &',
        "head=$!",
        "trap 'kill -USR2 $head' USR2  # the time is nearly over, or another job takes the nodes: it asks",
        "# one agent a node, with the CPUs of all its ranks",
        f"srun {overlap}--nodes={len(plan.nodes)} --ntasks={len(plan.nodes)} --ntasks-per-node=1 "
        f"--cpus-per-task={_cpus_per_node(plan)} --kill-on-bad-exit=0 \\",
        f'  {python} dtrain_lab.node join "$folder/{job_files.ENDPOINTS}" {NODE} &',
        "agents=$!",
        "# a signal ends `wait`, not the head",
        script_lines.wait_for("head"),
        "[ $code -lt 128 ] || kill $agents  # the head was killed: its agents would wait for it",
        "wait",
        "exit $code",
    ]


def _job(record: JobRecord) -> list[str]:
    """Return the job script's lines before the ranks are started."""
    plan, nodes, python = record.plan, len(record.plan.nodes), script_lines.python_of(record)
    command = activation.python(record.profile.environment, plan.python)
    ports = script_lines.allowed_ports(record)
    return [
        f"[ ! -e {job_files.WITHDRAWN} ] || exit 1  # cancelled before Slurm said that it has the job",
        *script_lines.variables(record, 0),
        'nodes=($(scontrol show hostnames "$SLURM_JOB_NODELIST"))',
        f"export MASTER_ADDR=${{nodes[0]}} "
        f"{environment_variables.PEER}={'${nodes[-1]}' if nodes > 1 else ''}",
        *([f'export {environment_variables.NODES}="${{nodes[*]}}"'] if record.framework is not None else []),
        "",
        *_where_installed(
            command,
            script_lines.staged_copies(
                record,
                f"srun --overlap --nodes={nodes} --ntasks={nodes} --ntasks-per-node=1 --cpus-per-task=1 "
                f"--kill-on-bad-exit=1 {python} dtrain_lab.node stage",
                f" {NODE} {KILL_S}",
                nodes,
                0,
            ),
        ),
        f"rm -f {LEFT}  # of a run that was requeued",
        f"trap 'touch \"$folder/{job_files.WARNED}\"' USR2  # the time is nearly over: agents tell the ranks",
        f"date +%s.%N > {job_files.STARTED}",
        f"head -c 65536 /dev/zero > {job_files.RESERVE}  # room to say how it ended, on a full disk",
        f"echo ${{SLURM_RESTART_COUNT:-0}} > {job_files.ATTEMPT}",
        *script_lines.head(python),
        "",
        *_ranks_command(record, command),
        f"port=$(({ports[0]} + SLURM_JOB_ID % {len(ports)}))",
        script_lines.next_free(ports, script_lines.needed_ports(record)),
        script_lines.EXPORT,
    ]


def _ranks_command(record: JobRecord, command: list[str]) -> list[str]:
    """Return lines that choose the command of a rank; torch's ranks need no dtrain-lab for it."""
    python = script_lines.python_of(record)
    has = f"{shlex.join(command)} -c 'import dtrain_lab' 2> /dev/null"
    if record.framework is not None:
        title = frameworks.TITLES[record.framework.name]
        return [
            f"# {title}'s ranks are told by dtrain-lab where the others are",
            f"if ! {has}; then",
            f'  echo "dtrain-lab is not installed here, and the ranks of {title} need it" >&2',
            f"  kill $head; {script_lines.exit_line(0, '1')}; exit 1",
            "fi",
            *_interfaces(record),
            f'rank=({python} dtrain_lab.node ranks "$folder")',
        ]
    return [
        "# without dtrain-lab on the nodes the plain script runs",
        f"if {has}; then",
        *(f"  {line}" for line in _interfaces(record)),
        f'  rank=({python} dtrain_lab.node ranks "$folder")',
        "else",
        f'  echo "dtrain-lab is not installed here: no metrics, no {job_files.EXECUTED}" >&2',
        f"  cd {job_files.CODE}; rank=({shlex.join(command)} -u {job_files.MAIN})",
        "fi",
    ]


def _interfaces(record: JobRecord) -> list[str]:
    """Return lines that collect the interfaces of several nodes, unless the profile names one.

    Without them, as where a node does not answer in time, each node uses its way to the first one.
    """
    nodes = len(record.plan.nodes)
    if nodes == 1 or record.plan.interface is not None:
        return []
    file = job_files.INTERFACES
    return [
        "# ranks use the fastest network that all nodes share",
        f"timeout -k 5 {INTERFACES_WITHIN_S} srun --nodes={nodes} --ntasks={nodes} --ntasks-per-node=1 "
        "--cpus-per-task=1 --kill-on-bad-exit=1 \\",
        f"  {script_lines.python_of(record)} dtrain_lab.node interfaces {NODE} > {file} || rm -f {file}",
    ]


def _job_steps(record: JobRecord) -> list[str]:
    """Return the lines of the step that starts the ranks, in a loop over the attempts."""
    plan, request, python = record.plan, record.request, script_lines.python_of(record)
    per_node, nodes, cpus = plan.nodes[0].ranks, len(plan.nodes), _cpus_per_rank(plan)
    by_rank = record.launcher == "srun"
    own_copy = f"{environment_variables.STAGED}+=.$SLURM_NODEID; " if request.stage else ""
    if by_rank:
        task = own_copy + (
            "export RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID WORLD_SIZE=$SLURM_NTASKS "
            f'LOCAL_WORLD_SIZE={per_node} NODE_RANK=$SLURM_NODEID; exec "$@"'
        )
        step = [
            f"srun --nodes={nodes} --ntasks={plan.size} --ntasks-per-node={per_node} --cpus-per-task={cpus} "
            "--kill-on-bad-exit=0 \\",
            f'  bash -c {shlex.quote(task)} task "${{rank[@]}}" &',
        ]
    else:
        torchrun = own_copy + (
            f'export NODE_RANK=$SLURM_NODEID; host=0; [ "$SLURM_NODEID" != 0 ] || host=1; '
            f"exec {python} torch.distributed.run --nnodes={nodes} --nproc-per-node={per_node} "
            f"--max-restarts={request.retries} --rdzv-backend=c10d --rdzv-id=$SLURM_JOB_ID "
            '--rdzv-endpoint=$MASTER_ADDR:$MASTER_PORT --rdzv-conf=is_host=$host --no-python "$@"'
        )
        step = [
            f"srun --nodes={nodes} --ntasks={nodes} --ntasks-per-node=1 "
            f"--cpus-per-task={_cpus_per_node(plan)} --kill-on-bad-exit=0 \\",
            f'  bash -c {shlex.quote(torchrun)} agent "${{rank[@]}}" &',
        ]
    step += [
        "step=$!",
        "# a signal ends `wait`, not the step",
        script_lines.wait_for("step"),
    ]
    if by_rank and request.retries:  # torchrun restarts by itself
        step = [
            f"for attempt in $(seq 0 {request.retries}); do",
            f"  echo $attempt > {job_files.ATTEMPT}; export {environment_variables.ATTEMPT}=$attempt",
            "  rm -f error.*.json .once.*",
            *(f"  {line}" for line in step),
            "  [ $code != 0 ] || break",
            "done",
        ]
    return [
        *step,
        f"! scontrol show job -o $SLURM_JOB_ID 2> /dev/null | grep -q 'PreemptTime=[0-9]' "
        f'|| echo 1 > "$folder/{job_files.PREEMPTED}"',
        *script_lines.ending(0, request.notify, staging=bool(request.stage)),
    ]


def _where_installed(command: list[str], lines: list[str]) -> list[str]:
    """Return lines that run only if dtrain-lab is installed on the nodes; else the plain script runs."""
    if not lines:
        return []
    return [
        f"if {shlex.join(command)} -c 'import dtrain_lab' 2> /dev/null; then",
        *(f"  {line}" for line in lines),
        "fi",
    ]
