"""Compatibility check: whether several nodes can run one world. Pure: `dtrain_lab.machine` reads facts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from dtrain_lab.errors import DtrainError, EnvironmentUnfit
from dtrain_lab.placement.frameworks import names
from dtrain_lab.wire.kinds import Accelerator, Framework
from dtrain_lab.wire.node_check import Check
from dtrain_lab.wire.summary import Summary

LEAST_FILES = 1024
LEAST_SHM = 64 << 20


def needed(framework: Framework, accelerator: Accelerator = "gpu") -> tuple[str, ...]:
    """Return the packages that ranks need, in the same version on all nodes.

    Args:
        framework: Framework of the ranks.
        accelerator: Kind of the devices; NPUs need torch_npu, too.
    """
    if framework == "torch" and accelerator == "npu":
        return (*needed(framework), "torch_npu")
    return ("dtrain-lab", "torch", "ipyparallel") if framework == "torch" else ("dtrain-lab", framework)


def unfit(
    checks: Mapping[str, Check], named: Framework | None = None, accelerator: Accelerator = "gpu"
) -> DtrainError | None:
    """Find what keeps these nodes from running one world.

    Args:
        checks: name of a node → facts about it.
        named: the framework; None if none was named, which means PyTorch.
        accelerator: kind of the nodes' devices.

    Returns:
        The error, which names the node; None if the nodes are fit.
    """
    framework = named or "torch"
    for node, check in checks.items():
        for package in needed(framework, accelerator):
            if not check.versions.get(package):
                command = f"{check.python} -m pip install {_install(package)}"
                may_be = names.OTHERS if package == "torch" and named is None else ()
                hint = names.or_named(filter(check.versions.get, may_be), command)
                return _error(f"The environment on {node} has no {package}.", hint, code="package_missing")
        if check.workdir_problem:
            return _error(
                f"{node} can't write workdir: {check.workdir_problem}.",
                "Set workdir in the profile to a folder that every node can write.",
                code="workdir",
            )
        if check.files < LEAST_FILES:
            return _error(
                f"{node} lets a process open {check.files} files; ranks need {LEAST_FILES}.",
                "Raise it (ulimit -n) in the profile's [environment] setup, or ask the administrator.",
                code="few_files",
            )
    for package in ("python", *needed(framework, accelerator)):  # of Python, major and minor version
        versions = {node: _version(package, check) for node, check in checks.items()}
        if len(set(versions.values())) > 1:
            usual = Counter(versions.values()).most_common(1)[0][0]
            others = ", ".join(f"{node} has {v}" for node, v in versions.items() if v != usual)
            return _error(
                f"The nodes have different versions of {package}: {others}, the others {usual}.",
                "Use one environment on all nodes: [environment] in the profile.",
                code="versions_differ",
                package=package,
                versions=versions,
            )
    return None


def warnings(checks: Mapping[str, Check]) -> tuple[Summary, ...]:
    """Problems that may cause trouble but don't prevent a start, in sentences that a page can translate.

    Args:
        checks: name of a node → facts about it.
    """
    return tuple(
        Summary(
            "little_shm",
            {"node": node, "free_mib": check.shm_bytes >> 20},
            f"{node} has {check.shm_bytes >> 20} MiB free in /dev/shm; DataLoader workers may need more.",
        )
        for node, check in checks.items()
        if check.shm_bytes < LEAST_SHM
    )


def _version(package: str, check: Check) -> str:
    text = check.versions.get(package, "")
    return ".".join(text.split(".")[:2]) if package == "python" else text


def _install(package: str) -> str:
    return "dtrain-lab" if package == "ipyparallel" else package


def _error(message: str, hint: str, *, code: str, **details: object) -> DtrainError:
    return EnvironmentUnfit(message, hint, code=code, details=details)
