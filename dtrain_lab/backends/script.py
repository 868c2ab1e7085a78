"""Job scripts, rendered as text that users can read and run by hand. Nothing is run here.

This is the complete script for back-ends without a scheduler: dtrain-lab's agent starts each node's ranks.
`script_lines` has the parts that it shares with a scheduler's batch script.
"""

from __future__ import annotations

import shlex

from dtrain_lab.backends.script_lines import (
    EXPORT,
    allowed_ports,
    ending,
    exit_line,
    head,
    needed_ports,
    next_free,
    nodes_of,
    python_of,
    shebang,
    staged_copies,
    title,
    variables,
)
from dtrain_lab.jobs import environment_variables
from dtrain_lab.jobs import file_names as job_files
from dtrain_lab.wire.jobs.job import JobRecord
from dtrain_lab.wire.processes.submission import Submission


def on_hosts(record: JobRecord, node: int | None, *, address: str = "127.0.0.1") -> str:
    """Return the script of a job on a back-end without a scheduler.

    Args:
        record: Record of the job.
        node: Number of the script's node; None if all nodes are this machine.
        address: Address of rank 0's node for the other nodes.
    """
    local = len(record.plan.nodes) == 1 or node is None
    python = python_of(record)
    lines = _entry(record, node, python, address, local=local)
    if not node:
        lines += head(python)
    lines += _attempts(record, node, python, local=local)
    lines += ending(
        node or 0, record.request.notify if not node else None, staging=bool(record.request.stage)
    )
    return "\n".join(lines) + "\n"


def _entry(record: JobRecord, node: int | None, python: str, address: str, *, local: bool) -> list[str]:
    """Lines that wait for room, and note the start and signals."""
    plan, folder = record.plan, shlex.quote(record.directory)
    peer = "" if local or node else plan.nodes[-1].address or plan.nodes[-1].name
    return [
        shebang(record),
        title(record),
        f"folder={folder}",
        'cd "$folder" || exit 1',
        "umask 077",
        f"echo $$ > {job_files.PID}",
        *variables(record, node or 0),
        *nodes_of(record, " ".join(node.address or node.name for node in plan.nodes) if not local else ""),
        f"export MASTER_ADDR={shlex.quote(address)} {environment_variables.SIZE}={plan.size} "
        f"{environment_variables.PEER}={shlex.quote(peer)}",
        "",
        "# wait for room, on all hosts at once",
        f'exec 3< <(exec {python} dtrain_lab.node admit "$folder"{"" if node is None else f" {node}"})',
        f"read -r first devices <&3 || {{ {exit_line(node or 0, '1')}; exit 1; }}; exec 3<&-",
        '[ -z "$devices" ] || [ -n "${CUDA_VISIBLE_DEVICES+given}" ] || export CUDA_DEVICE_ORDER=PCI_BUS_ID',
        '[ -z "$devices" ] || export CUDA_VISIBLE_DEVICES=$devices',
        "",
        *staged_copies(record, f"{python} dtrain_lab.node stage", f" {node or 0}", 1, node or 0),
        "ended=",
        f"trap 'ended=1; touch \"$folder/{job_files.CANCELLED}\"' TERM INT HUP",
        f"trap 'touch \"$folder/{job_files.WARNED}\"' USR2",
        f"date +%s.%N > {job_files.STARTED}",
        f"head -c 65536 /dev/zero > {job_files.RESERVE}  # room to say how it ended, on a full disk",
    ]


def _attempts(record: JobRecord, node: int | None, python: str, *, local: bool) -> list[str]:
    """Lines that start the ranks, and start them again after a failure as often as the job may."""
    plan = record.plan
    nodes = range(len(plan.nodes)) if node is None else [node]
    ports, count = allowed_ports(record), needed_ports(record)
    each = f" * {count}" if count > 1 else ""  # a port of an attempt may still be taken in the next
    apart = "" if local else " apart"
    return [
        "",
        f"for attempt in $(seq 0 {record.request.retries}); do",
        f"  echo $attempt > {job_files.ATTEMPT}",
        f"  export {environment_variables.ATTEMPT}=$attempt",
        f"  port=$(({ports[0]} + (first - {ports[0]} + attempt{each}) % {len(ports)}))",
        *(["  " + next_free(ports, count)] if local else []),
        "  " + EXPORT,
        "  pids=()",
        *(
            f'  {python} dtrain_lab.node ranks "$folder" {index} {plan.nodes[0].ranks}{apart} & pids+=($!)'
            for index in nodes
        ),
        "  code=0",
        '  for pid in "${pids[@]}"; do',
        "    # a signal ends `wait`, not the process",
        '    while :; do wait "$pid"; one=$?; kill -0 "$pid" 2> /dev/null || break; done',
        "    [ $code = 0 ] && code=$one",
        "  done",
        '  [ $code = 0 ] || [ -n "$ended" ] && break',
        "done",
    ]


def of_one_folder(submission: Submission) -> str:
    """Return the script of a cluster or a job whose nodes share a folder and need no script of their own."""
    if isinstance(submission, JobRecord):
        return on_hosts(submission, None)
    head = f"exec {python_of(submission)} dtrain_lab.head {job_files.HEAD}"
    return "\n".join((shebang(submission), title(submission), head)) + "\n"
