"""The part of a job's plan that depends on its framework."""

from __future__ import annotations

from dtrain_lab.errors import BadProfile
from dtrain_lab.placement.frameworks import ascend, names, tensorflow
from dtrain_lab.wire.jobs.framework import FrameworkPlan
from dtrain_lab.wire.kinds import Framework, Strategy
from dtrain_lab.wire.profile import Profile


def plan(
    framework: Framework, strategy: Strategy | None, size: int, *, evaluates: bool = False
) -> FrameworkPlan | None:
    """Return how a job's ranks find each other; None for torch, which needs no more than its own variables.

    Args:
        framework: framework of the job.
        strategy: TensorFlow's strategy, as the notebook creates it.
        size: number of ranks.
        evaluates: whether the notebook has code for an evaluator.

    Raises:
        BadSize: too few ranks for parameter servers.
    """
    if framework == "tensorflow":
        return tensorflow.plan(strategy, size, evaluates=evaluates)
    return FrameworkPlan("mindspore") if framework == "mindspore" else None


def check_cluster(profile: Profile) -> None:
    """Check that a profile can start interactive ranks, which torch connects.

    Raises:
        BadProfile: it is for jobs of another framework, or for NPUs.
    """
    title = names.TITLES[profile.framework or "torch"]
    if ascend.used(profile):
        title = "Ascend NPUs"
    elif profile.framework in (None, "torch"):
        return
    raise BadProfile(
        f'Clusters run PyTorch on CPUs and GPUs; the profile "{profile.name}" is for {title}.',
        "Submit the notebook as a job, or choose another profile.",
        code="framework_of_jobs",
        details={"field": "profile"},
    )
