"""Short commands on Slurm's nodes: steps of an existing allocation, or small allocations of their own."""

from __future__ import annotations

import shlex

from dtrain_lab.backends.hosts import ssh_connections
from dtrain_lab.backends.hosts.base import Done
from dtrain_lab.backends.hosts.transport import transport
from dtrain_lab.backends.slurm import allocation
from dtrain_lab.backends.slurm.script import directives
from dtrain_lab.wire.plan import Plan
from dtrain_lab.wire.processes.submission import ClusterRecord
from dtrain_lab.wire.profile import Profile

PLACED = ("--partition", "--account", "--qos", "--constraint", "--gres")
"""Options of a batch script that say where it may run; a step that checks nodes has to run there, too."""


async def run_step(profile: Profile, plan: Plan, options: list[str], command: list[str]) -> Done:
    """Run a short command on nodes, where a submission of this profile would run.

    Args:
        profile: The profile.
        plan: A plan of the profile.
        options: Options of `srun`: how many nodes, or which.
        command: Program and arguments.

    Returns:
        How `srun` ended, and what the command printed.
    """
    run = ["srun", *options, "--time=2", "--quiet"]
    if allocation.used(profile):
        run += [f"--jobid={allocation.job_of(profile)}", "--overlap"]
    else:
        all_options = directives(ClusterRecord("check", "check", profile, plan))
        # options are quoted, as in a batch script
        placed = [shlex.split(option) for option in all_options if option.startswith(PLACED)]
        run += ["--immediate=20", *(word for option in placed for word in option)]
    line, first = ssh_connections.shell(profile, command)  # variables go through stdin: ps would show them
    return await transport(profile.ssh.login).run([*run, *shlex.split(line)], first)
