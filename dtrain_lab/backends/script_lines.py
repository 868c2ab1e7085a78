"""Lines of job scripts that back-ends with and without a scheduler share."""

from __future__ import annotations

import json
import re
import shlex

from dtrain_lab.errors import BadProfile
from dtrain_lab.jobs import environment_variables
from dtrain_lab.jobs import file_names as job_files
from dtrain_lab.jobs.environment_variables import JobEnvironment, Monitored
from dtrain_lab.placement import activation, network
from dtrain_lab.placement.frameworks import ascend
from dtrain_lab.placement.frameworks import ranks as frameworks
from dtrain_lab.wire.jobs.job import JobRecord
from dtrain_lab.wire.processes.submission import Submission

EXPORT = "export MASTER_PORT=$port"
SCRATCH = '"${SLURM_TMPDIR:-${TMPDIR:-/tmp}}"'
"""A node-local disk, if the profile names none."""
SECRET_HINT = "Write its value into that file, readable by you only (chmod 600), where each node can read it."


def needed_ports(record: JobRecord) -> int:
    """Return how many ports in a row the ranks of a job need."""
    return frameworks.ports(record.framework, record.plan.size)


def allowed_ports(record: JobRecord) -> range:
    """Return the ports that a job's ports may begin with: of the profile's range, or the default.

    Raises:
        BadProfile: The range has fewer ports than the job needs.
    """
    ports = network.port_range(record.profile.network.ports) or network.PORTS
    count = needed_ports(record)
    if len(ports) < count:
        raise BadProfile(
            f"[network] ports has {len(ports)} ports; each of this job's {count} ranks needs one.",
            "Name a larger range.",
            details={"key": "ports"},
        )
    return range(ports.start, ports.stop - count + 1)


def next_free(ports: range, count: int = 1) -> str:
    """Return a line that takes the next free port of a range, or the first of several free ones in a row.

    Possible only if one script chooses the port for all nodes.

    Args:
        ports: The range; the search wraps around at its end.
        count: Number of consecutive ports that are needed.
    """
    step = f"port=$((port < {ports[-1]} ? port + 1 : {ports[0]}))"
    if count == 1:
        taken = '(: < "/dev/tcp/127.0.0.1/$port") 2> /dev/null'
        return f"for _ in {{1..{len(ports)}}}; do {taken} || break; {step}; done"
    taken = '(: < "/dev/tcp/127.0.0.1/$((port + i))") 2> /dev/null'
    each = f"for ((i = 0; i < {count}; i++)); do {taken} && {{ {step}; continue 2; }}; done"
    return f"for _ in {{1..{len(ports)}}}; do {each}; break; done"


def nodes_of(record: JobRecord, addresses: str) -> list[str]:
    """Return a line that names the nodes' addresses to the agents of a framework's ranks.

    Args:
        record: Record of the job.
        addresses: The addresses, for a shell; empty if all nodes are this machine.
    """
    if record.framework is None:
        return []
    written = shlex.quote(addresses or " ".join(["127.0.0.1"] * len(record.plan.nodes)))
    return [f"export {environment_variables.NODES}={written}"]


def variables(record: JobRecord, node: int) -> list[str]:
    """Return lines that set the variables of a job's processes; an unreadable secret ends the job.

    Args:
        record: The job.
        node: Index of the node on which the lines run.
    """

    def never_starts(name: str, path: str) -> list[str]:
        """Write the reason to a file for clients: no process that could report it runs yet."""
        message = f"{activation.no_secret(name, path, 'its node')}."
        reason = json.dumps({"code": "no_secret", "message": message, "hint": SECRET_HINT, "final": True})
        if node:  # the other hosts wait for this node: its agent reports the reason to them
            return [f"export {environment_variables.NEVER}={shlex.quote(reason)}"]
        return [f"echo {shlex.quote(reason)} > {job_files.WAITING}", exit_line(node, "1"), "exit 1"]

    plan, profile = record.plan, record.profile
    ours = JobEnvironment(
        folder=record.directory,
        notebook=record.request.notebook.rpartition("/")[2],
        checkpoints=record.checkpoints,
        monitored=Monitored(plan.monitor, plan.watch.probe, plan.watch.guard),
        framework=record.framework,
        accelerator="npu" if ascend.used(profile) else "",
        forks=record.framework is None and record.request.sweep is not None and plan.traits.one_machine,
    ).to_environ()
    if "OMP_NUM_THREADS" not in plan.variables:
        ours["OMP_NUM_THREADS"] = str(plan.cpus_per_rank or plan.nodes[0].threads)
    if plan.interface is not None:
        ours |= dict.fromkeys(network.COLLECTIVES, plan.interface)
    ours |= ascend.variables(profile, plan)
    lines = activation.lines(profile.environment, {**ours, **plan.variables}, never_starts)
    return [*lines, f'mkdir -p -- "${environment_variables.CHECKPOINTS}"']


def staged_copies(record: JobRecord, keeper: str, which: str, copies: int, node: int) -> list[str]:
    """Return lines that copy data to the nodes' own disks, and wait for a line per finished copy.

    Args:
        record: Record of the job.
        keeper: Command that makes and keeps the copies.
        which: Its last arguments.
        copies: Number of copies that it makes.
        node: Number of the script's node.
    """
    if not record.request.stage:
        return []
    suffix = "" if record.plan.traits.schedules else f".{node}"
    base = record.profile.scratch
    scratch = shlex.quote(base) if base else SCRATCH
    never = f"{exit_line(node, '1')}; exit 1"
    if node:
        unsaid = shlex.quote(json.dumps({"message": "its data could not be copied"}))
        reason = f"$(cat {job_files.WAITING} 2> /dev/null || echo {unsaid})"
        why = f'export {environment_variables.NEVER}="{reason}"'
        never = f"{why}; rm -f {job_files.WAITING}; break"
    return [
        "# a copy of the data on each node's own disk, as long as this runs",
        f"export {environment_variables.STAGED}={scratch}/dtrain-lab-data-$UID/{record.id}{suffix}",
        f'exec 4< <(exec {keeper} "$folder" "${environment_variables.STAGED}"{which} < /dev/null)',
        "keeper=$!",
        f"for copy in $(seq {copies}); do read -r -u 4 || {{ {never}; }}; done",
    ]


def head(python: str) -> list[str]:
    """Return lines that start the head of a job."""
    return [
        "",
        "# watches the ranks: metrics, stacks, hangs; the job does not need it",
        f'nice {python} dtrain_lab.head observe "$folder" > head.log 2>&1 &',
        "head=$!",
    ]


def ending(node: int, end_command: str | None, *, staging: bool) -> list[str]:
    """Return lines that end head and data keeper, write the exit file, and run the command for the job's end.

    Args:
        node: Index of the node; the head runs on node 0.
        end_command: The user's shell command for the job's end, if there is one.
        staging: The node has a data keeper.
    """
    return [
        "",
        *(["kill $head 2> /dev/null; wait $head 2> /dev/null"] if node == 0 else []),
        *(
            ['[ -z "$keeper" ] || { exec 4<&-; kill -USR1 $keeper; wait $keeper; } 2> /dev/null']
            if staging
            else []
        ),
        'cd "$folder"',
        f"rm -f {job_files.RESERVE}",
        exit_line(node, "$code"),
        *(_with_result(end_command) if end_command else []),
        "exit $code",
    ]


def _with_result(command: str) -> list[str]:
    """Lines that run the user's command, and write how it has ended."""
    log, told = job_files.END_COMMAND_LOG, job_files.END_COMMAND
    return [
        f"bash -c {shlex.quote(command)} < /dev/null > {log} 2>&1",
        f"{{ echo $?; tail -n 20 {log} | tail -c 2000; }} > .{told} && mv .{told} {told}",
    ]


def exit_line(node: int, code: str) -> str:
    """Return a line that writes a node's exit file.

    Args:
        node: Index of the node; node 0 writes the job's own exit file.
        code: Shell expression of the exit code, such as `$code`.
    """
    file = job_files.EXIT if node == 0 else f"{job_files.EXIT}.{node}"
    content = f'printf \'{{"code": %d, "at": %s}}\\n\' {code} "$(date +%s.%N)"'
    return f"{content} > .{file} && mv .{file} {file}"


def title(submission: Submission) -> str:
    """Return a script's title comment."""
    kind = "Cluster" if submission.interactive else "Job"
    name, size = re.sub(r"[^\w .()-]", "_", submission.name), submission.plan.size
    return f"# {kind} {name} ({submission.id}): {size} ranks. Made by dtrain-lab; runs by hand, too."


def shebang(submission: Submission) -> str:
    """Return the first line of a script: modules and conda need a login shell."""
    return "#!/bin/bash -l" if activation.login_needed(submission.profile.environment) else "#!/bin/bash"


def python_of(submission: Submission) -> str:
    """Return the command that starts a module with the environment's Python."""
    command = activation.python(submission.profile.environment, submission.plan.python)
    return shlex.join([*command, "-P", "-m"])


def wait_for(name: str) -> str:
    """Return lines that wait for a process and keep its exit code: a signal ends `wait`, not the process.

    Args:
        name: Shell variable with its pid.
    """
    return f'while :; do wait "${name}"; code=$?; kill -0 "${name}" 2> /dev/null || break; done'
