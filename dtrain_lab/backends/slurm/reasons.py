"""Explains what Slurm reports about a job: why it waits, how it ended, why it was refused. Pure."""

from __future__ import annotations

import re

from dtrain_lab.wire.cluster import Reason

REASONS: dict[str, tuple[str, str, bool]] = {
    "Resources": ("The job waits for free nodes.", "", False),
    "Priority": ("Jobs of higher priority are ahead.", "", False),
    "Dependency": ("The job waits for another job.", "", False),
    "BeginTime": ("The job's earliest start time has not been reached.", "", False),
    "ReqNodeNotAvail": (
        "A node that the job needs is down or reserved.",
        "Ask for other nodes, or wait.",
        False,
    ),
    "PartitionDown": ("The partition is down.", "Choose another partition.", False),
    "PartitionInactive": ("The partition takes no jobs now.", "Choose another partition.", False),
    "PartitionNodeLimit": (
        "The partition does not give one job so many nodes.",
        "Ask for fewer nodes, or choose another partition.",
        True,
    ),
    "PartitionTimeLimit": (
        "The job asks for more time than the partition allows.",
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
    "BadConstraints": ("No node has the requested resources.", "Check [slurm] constraint.", True),
    "JobHeldUser": ("You hold the job.", "Release it: scontrol release JOB", False),
    "JobHeldAdmin": ("The job is held by an administrator.", "Ask your administrator why.", False),
    "Licenses": ("The job waits for a licence.", "", False),
    "Reservation": ("The job waits for its reservation.", "", False),
    "NonZeroExitCode": ("The job ended with an error.", "Its log has the details.", True),
    "TimeLimit": ("The job reached its time limit.", "Set a longer [slurm] time.", True),
    "NodeDown": ("A node went down.", "Start it again.", True),
    "OutOfMemory": ("The job needed more memory than it asked for.", "Raise memory_per_node.", True),
}
"""Slurm's code → message, hint, and whether the job can never start with this request."""
ENDS: dict[str, tuple[str, str]] = {
    "TIMEOUT": ("The job reached its time limit.", "Set a longer [slurm] time."),
    "DEADLINE": ("The job reached its deadline.", "Submit it with a later one."),
    "PREEMPTED": ("A job of higher priority took its nodes.", "Start it again."),
    "NODE_FAIL": ("A node failed.", "Start it again."),
    "BOOT_FAIL": ("A node did not start.", "Start it again."),
    "OUT_OF_MEMORY": ("The job needed more memory than it asked for.", "Raise memory_per_node."),
    "CANCELLED": ("The job was cancelled.", ""),
    "REVOKED": ("Another cluster of the federation runs the job.", ""),
}
"""Slurm's state of a job that has ended → message and hint."""
ENDED = frozenset((*ENDS, "COMPLETED", "FAILED"))
"""States of jobs that don't run again."""


def reason(code: str, state: str) -> Reason | None:
    """Describe why a job waits or how it ended.

    Args:
        code: Slurm's reason.
        state: Slurm's state of the job.

    Returns:
        The explanation; None if there is nothing to explain.
    """
    plain = code.strip("()").split(",")[0]
    state = state.partition(" ")[0]  # "CANCELLED by 1000"
    if state in ENDS:  # an earlier reason for waiting may still be there
        return Reason(state.lower(), *ENDS[state], final=True)
    if state == "SUSPENDED":
        return Reason("suspended", "Slurm has suspended the job.", "It resumes automatically.")
    if plain in REASONS:
        message, hint, final = REASONS[plain]
        return Reason(plain, message, hint, final=final)
    if "Minutes" in plain:  # AssocGrpCPUMinutesLimit, AssocGrpGRESMinutes, QOSGrpGRESRunMinutes …
        whose = "QOS" if plain.startswith("QOS") else "account"
        message = f"The job may need more hours than your {whose} has left."
        return Reason(plain, message, "Ask for less time or fewer nodes, or use another account.")
    if state == "FAILED":
        return Reason("failed", "The job ended with an error.", "Its log has the details.", final=True)
    if plain in ("None", ""):
        return None
    return Reason(plain, f"Slurm says: {plain}.", "")


def last_line(output: str) -> str:
    """Return the last line of a Slurm command's output, without the command's name."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    last = re.sub(r"^[a-z]+: ((error|fatal): )?", "", lines[-1]) if lines else "it gave no reason"
    return last.rstrip(".")


def silence(output: str, place: str) -> tuple[str, str]:
    """Turn what `sinfo` says as it fails into a message and a hint.

    Args:
        output: what it has said.
        place: where it ran.
    """
    why = last_line(output)
    if "configuration source" in output.lower():
        hint = "Set SLURM_CONF to its slurm.conf, or [ssh] login in the profile to a login node."
        return f"Slurm is installed on {place} but not configured: {why}.", hint
    return f"Slurm does not answer: {why}.", "Is the scheduler up?"


def is_unsure(output: str) -> bool:
    """Whether Slurm's controller did not answer `sbatch` in time, so that it may have the job."""
    return any(part in output.lower() for part in ("timed out", "unable to contact", "communication"))


def refusal(output: str) -> tuple[str, str]:
    """Turn `sbatch`'s refusal into a message and a hint."""
    lines = [line for line in output.splitlines() if "error" in line.lower()] or output.splitlines()
    why = last_line("\n".join(lines))
    # beside "violates accounting/QOS policy", which names all limits, Slurm says which one it was
    for part, hint in (
        ("MaxSubmit", "Wait until fewer of your jobs are queued."),
        ("MaxWall", "Set a shorter [slurm] time in the profile."),
        ("MaxCpu", "Ask for fewer nodes or CPUs."),
        ("MaxNode", "Ask for fewer nodes."),
    ):
        if part.lower() in output.lower():
            return f"Slurm refuses: {why}.", hint
    for part, hint in (
        ("invalid account", "Set [slurm] account in the profile."),
        ("specify an account", "Set [slurm] account in the profile."),
        ("partition", "Set [slurm] partition in the profile."),
        ("qos", "Set [slurm] qos in the profile."),
        ("generic resource", "Set [slurm] gres in the profile."),
        ("node configuration", "Ask for fewer nodes, CPUs or GPUs, or less memory."),
        ("time limit", "Set a shorter [slurm] time in the profile."),
    ):
        if part in why.lower():
            return f"Slurm refuses: {why}.", hint
    return f"Slurm refuses: {why}.", "Check [slurm] in the profile."
