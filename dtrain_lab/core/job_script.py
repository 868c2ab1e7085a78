"""The scripts that run a job: values, readable, and good to be run by hand. Nothing is run here.

One for a machine without a scheduler (each node's ranks made by our own agent), one for `sbatch` in both
classic forms: `srun` alone, each task a rank; and `srun torchrun`, one agent of torchrun a node.
"""

from __future__ import annotations

import json
import re
import shlex

from dtrain_lab.core import command, jobfiles, slurm, staged
from dtrain_lab.core.job import JobRecord
from dtrain_lab.errors import BadProfile

PORT = "port=$((20000 + SLURM_JOB_ID % 12000))  # below the ports that systems give out"
NEXT = 'while (: < "/dev/tcp/127.0.0.1/$port") 2> /dev/null; do port=$((port + 1)); done'
"""Another where it is taken; only where one script chooses for all nodes."""
EXPORT = "export MASTER_PORT=$port"
SCRATCH = '"${SLURM_TMPDIR:-${TMPDIR:-/tmp}}"'
"""A node's own disk, where the profile names none."""
SECRET_HINT = "Write its value into that file, for your eyes only (chmod 600), where each node can read it."


def on_hosts(record: JobRecord, node: int | None, *, address: str = "127.0.0.1") -> str:
    """The script of a job where nobody schedules.

    Args:
        record: of the job.
        node: which node's script this is; None where this machine is all nodes.
        address: of rank 0's node, as the others reach it.
    """
    plan, folder = record.plan, shlex.quote(record.directory)
    python = shlex.join([*command.python(record.profile.environment, plan.python), "-P", "-m"])
    nodes = range(len(plan.nodes)) if node is None else [node]
    per_node = plan.nodes[0].ranks
    local = len(plan.nodes) == 1 or node is None
    apart = "" if local else " apart"
    peer = "" if local or node else plan.nodes[-1].address or plan.nodes[-1].name
    lines = [
        "#!/bin/bash -l" if command.login_needed(record.profile.environment) else "#!/bin/bash",
        _title(record),
        f"folder={folder}",
        'cd "$folder" || exit 1',
        "umask 077",
        f"echo $$ > {jobfiles.PID}",
        *_environment(record, node or 0),
        f"export MASTER_ADDR={shlex.quote(address)} DTRAIN_SIZE={plan.size} DTRAIN_PEER={shlex.quote(peer)}",
        "",
        "# wait for room, on all hosts at once",
        f'exec 3< <(exec {python} dtrain_lab.node turn "$folder"{"" if node is None else f" {node}"})',
        f"read -r first devices <&3 || {{ {_exit_line(node or 0, '1')}; exit 1; }}; exec 3<&-",
        '[ -z "$devices" ] || [ -n "${CUDA_VISIBLE_DEVICES+given}" ] || export CUDA_DEVICE_ORDER=PCI_BUS_ID',
        '[ -z "$devices" ] || export CUDA_VISIBLE_DEVICES=$devices',
        "",
        *_staged(record, f"{python} dtrain_lab.node stage", f" {node or 0}", 1, node or 0),
        "ended=",
        f"trap 'ended=1; touch \"$folder/{jobfiles.CANCELLED}\"' TERM INT HUP",
        f"trap 'touch \"$folder/{jobfiles.WARNED}\"' USR2",
        f"date +%s.%N > {jobfiles.STARTED}",
        f"head -c 65536 /dev/zero > {jobfiles.RESERVE}  # room to say how it ended, on a full disk",
    ]
    if 0 in nodes:
        lines += _head(python)
    lines += [
        "",
        f"for attempt in $(seq 0 {record.request.retries}); do",
        f"  echo $attempt > {jobfiles.ATTEMPT}",
        f"  export {jobfiles.ATTEMPT_VARIABLE}=$attempt",
        "  rm -f error.*.json .once.*",
        "  port=$((first + attempt))",
        *(["  " + NEXT] if local else []),
        "  " + EXPORT,
        "  pids=()",
        *(
            f'  {python} dtrain_lab.node attached "$folder" {index} {per_node}{apart} & pids+=($!)'
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
        *_ending(node or 0, record.request.notify if not node else None, staging=bool(record.request.stage)),
    ]
    return "\n".join(lines) + "\n"


def for_slurm(record: JobRecord) -> str:
    """The batch script.

    Raises:
        BadProfile: a value has a line break in it.
    """
    plan, profile, request = record.plan, record.profile, record.request
    words = command.python(profile.environment, plan.python)
    python = shlex.join([*words, "-P", "-m"])
    per_node, nodes = plan.nodes[0].ranks, len(plan.nodes)
    cpus = plan.cpus_per_rank or 1
    by_rank = record.launcher == "srun"
    lines = [
        "#!/bin/bash -l" if command.login_needed(profile.environment) else "#!/bin/bash",
        *(f"#SBATCH {option}" for option in directives(record)),
        _title(record),
        f"folder={shlex.quote(record.directory)}",
        'cd "$folder" || exit 1',
        "umask 077",
        "# what the submission's shell had belongs to it",
        "unset ${!SLURM_EXPORT*} ${!PMI*}",
        *_environment(record, 0),
        'nodes=($(scontrol show hostnames "$SLURM_JOB_NODELIST"))',
        f"export MASTER_ADDR=${{nodes[0]}} DTRAIN_PEER={'${nodes[-1]}' if nodes > 1 else ''}",
        "",
        *_where_installed(
            words,
            _staged(
                record,
                f"srun --overlap --nodes={nodes} --ntasks={nodes} --ntasks-per-node=1 --cpus-per-task=1 "
                f"--kill-on-bad-exit=1 {python} dtrain_lab.node stage",
                "",
                nodes,
                0,
            ),
        ),
        f"trap 'touch \"$folder/{jobfiles.WARNED}\"' USR2  # the time is nearly over: agents tell the ranks",
        f"rm -f {jobfiles.EXIT} {jobfiles.PREEMPTED} error.*.json .once.*  # of a run that was requeued",
        f"date +%s.%N > {jobfiles.STARTED}",
        f"head -c 65536 /dev/zero > {jobfiles.RESERVE}  # room to say how it ended, on a full disk",
        f"echo ${{SLURM_RESTART_COUNT:-0}} > {jobfiles.ATTEMPT}",
        *_head(python),
        "",
        "# without dtrain-lab on the nodes the plain script runs",
        f"if {shlex.join(words)} -c 'import dtrain_lab' 2> /dev/null; then",
        f'  rank=({python} dtrain_lab.node attached "$folder")',
        "else",
        f'  echo "dtrain-lab is not installed here: no metrics, no {jobfiles.EXECUTED}" >&2',
        f"  cd {jobfiles.CODE}; rank=({shlex.join(words)} -u {jobfiles.MAIN})",
        "fi",
        PORT,
        NEXT,
        EXPORT,
    ]
    own_copy = f"{staged.VARIABLE}+=.$SLURM_NODEID; " if request.stage else ""
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
            f"srun --nodes={nodes} --ntasks={nodes} --ntasks-per-node=1 --cpus-per-task={cpus * per_node} "
            "--kill-on-bad-exit=0 \\",
            f'  bash -c {shlex.quote(torchrun)} agent "${{rank[@]}}" &',
        ]
    step += [
        "step=$!",
        "# a signal ends `wait`, not the step",
        'while :; do wait "$step"; code=$?; kill -0 "$step" 2> /dev/null || break; done',
    ]
    if by_rank and request.retries:  # torchrun begins anew by itself
        step = [
            f"for attempt in $(seq 0 {request.retries}); do",
            f"  echo $attempt > {jobfiles.ATTEMPT}; export {jobfiles.ATTEMPT_VARIABLE}=$attempt",
            "  rm -f error.*.json .once.*",
            *(f"  {line}" for line in step),
            "  [ $code != 0 ] || break",
            "done",
        ]
    lines += [
        *step,
        f"! scontrol show job -o $SLURM_JOB_ID 2> /dev/null | grep -q 'PreemptTime=[0-9]' "
        f'|| echo 1 > "$folder/{jobfiles.PREEMPTED}"',
        *_ending(0, request.notify, staging=bool(request.stage)),
    ]
    return "\n".join(lines) + "\n"


def directives(record: JobRecord) -> list[str]:
    """Options of `sbatch`: those of a cluster, with a task a rank where srun makes the ranks."""
    plan, request = record.plan, record.request
    per_node = plan.nodes[0].ranks
    log = f"{record.directory}/{jobfiles.LAUNCHER_LOG}.log"
    options = slurm.directives(plan, record.profile, identity=record.id, name=record.name, log=log)
    if record.launcher == "srun":
        swapped = {
            "--ntasks-per-node=": f"--ntasks-per-node={per_node}",
            "--cpus-per-task=": f"--cpus-per-task={plan.cpus_per_rank or 1}",
        }
        options = [next((new for old, new in swapped.items() if o.startswith(old)), o) for o in options]
    if request.time is not None:
        slurm.time_s(request.time)
        options = [o for o in options if not o.startswith("--time=")] + [
            f"--time={shlex.quote(request.time)}"
        ]
    if request.warn_s:  # also without a limit of its own: of the partition, or where it is preempted
        options.append(f"--signal=B:USR2@{int(request.warn_s)}")
    if request.mail is not None:
        options += [f"--mail-user={shlex.quote(request.mail)}", "--mail-type=BEGIN,END,FAIL"]
    for option in options:
        if re.search(r"[\n\r\0]", option):
            raise BadProfile(f"{option!r} has a line break in it.", "Write it in one line.")
    return options


def _environment(record: JobRecord, node: int) -> list[str]:
    def never_starts(name: str, path: str) -> list[str]:
        """Where doors read why, as nothing is there yet that could tell them."""
        message = f"{command.no_secret(name, path, 'its node')}."
        reason = json.dumps({"code": "no_secret", "message": message, "hint": SECRET_HINT, "final": True})
        if node:  # the other hosts wait for this one: its agent tells them
            return [f"export {jobfiles.NEVER_VARIABLE}={shlex.quote(reason)}"]
        return [f"echo {shlex.quote(reason)} > {jobfiles.WAITING}", _exit_line(node, "1"), "exit 1"]

    plan, profile = record.plan, record.profile
    ours = {
        jobfiles.FOLDER_VARIABLE: record.directory,
        jobfiles.NOTEBOOK_VARIABLE: record.request.notebook.rpartition("/")[2],
        jobfiles.MONITOR_VARIABLE: _monitor(record),
        "DTRAIN_CHECKPOINT_DIR": record.checkpoints,
    }
    if "OMP_NUM_THREADS" not in plan.variables:
        ours["OMP_NUM_THREADS"] = str(plan.cpus_per_rank or plan.nodes[0].threads)
    if plan.interface is not None:
        ours |= {"GLOO_SOCKET_IFNAME": plan.interface, "NCCL_SOCKET_IFNAME": plan.interface}
    return command.lines(profile.environment, {**ours, **plan.variables}, never_starts)


def _staged(record: JobRecord, keeper: str, which: str, copies: int, node: int) -> list[str]:
    """Copies of the data on nodes' own disks; who keeps one says so in a line.

    Args:
        record: of the job.
        keeper: the command.
        which: its last words.
        copies: how many it makes.
        node: whose script this is.
    """
    if not record.request.stage:
        return []
    suffix = "" if record.plan.backend == "slurm" else f".{node}"
    base = record.profile.scratch
    scratch = shlex.quote(base) if base else SCRATCH
    never = f"{_exit_line(node, '1')}; exit 1"
    if node:
        unsaid = shlex.quote(json.dumps({"message": "its data could not be copied"}))
        why = f'export {jobfiles.NEVER_VARIABLE}="$(cat {jobfiles.WAITING} 2> /dev/null || echo {unsaid})"'
        never = f"{why}; rm -f {jobfiles.WAITING}; break"
    return [
        "# a copy of the data on each node's own disk, as long as this runs",
        f"export {staged.VARIABLE}={scratch}/dtrain-lab-data-$UID/{record.id}{suffix}",
        f'exec 4< <(exec {keeper} "$folder" "${staged.VARIABLE}"{which} < /dev/null)',
        "keeper=$!",
        f"for copy in $(seq {copies}); do read -r -u 4 || {{ {never}; }}; done",
    ]


def _where_installed(words: list[str], lines: list[str]) -> list[str]:
    """Lines that need dtrain-lab on the nodes; without it the plain script runs."""
    if not lines:
        return []
    return [
        f"if {shlex.join(words)} -c 'import dtrain_lab' 2> /dev/null; then",
        *(f"  {line}" for line in lines),
        "fi",
    ]


def _head(python: str) -> list[str]:
    return [
        "",
        "# watches the ranks: figures, stacks, hangs; the job does not need it",
        f'nice {python} dtrain_lab.head observe "$folder" > head.log 2>&1 &',
        "head=$!",
    ]


def _ending(node: int, notify: str | None, *, staging: bool) -> list[str]:
    return [
        "",
        *(["kill $head 2> /dev/null; wait $head 2> /dev/null"] if node == 0 else []),
        *(
            ['[ -z "$keeper" ] || { exec 4<&-; kill -USR1 $keeper; wait $keeper; } 2> /dev/null']
            if staging
            else []
        ),
        'cd "$folder"',
        f"rm -f {jobfiles.RESERVE}",
        _exit_line(node, "$code"),
        *([f"bash -c {shlex.quote(notify)} < /dev/null > notify.log 2>&1"] if notify else []),
        "exit $code",
    ]


def _exit_line(node: int, code: str) -> str:
    file = jobfiles.EXIT if node == 0 else f"{jobfiles.EXIT}.{node}"
    told = f'printf \'{{"code": %d, "at": %s}}\\n\' {code} "$(date +%s.%N)"'
    return f"{told} > .{file} && mv .{file} {file}"


def _monitor(record: JobRecord) -> str:
    """What the runner's monitor is to do, as words."""
    plan = record.plan
    if not plan.monitor:
        return "0"
    words = ["1", *(["no-probe"] if not plan.watch.probe else []), *(["guard"] if plan.watch.guard else [])]
    return ",".join(words)


def _title(record: JobRecord) -> str:
    name = re.sub(r"[^\w .()-]", "_", record.name)
    return f"# Job {name} ({record.id}): {record.plan.size} ranks. Made by dtrain-lab; runs by hand, too."
