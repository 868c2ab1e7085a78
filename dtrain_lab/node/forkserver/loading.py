"""What a fork server loads before it forks."""

from __future__ import annotations

from dtrain_lab.node.forkserver.messages import Loaded
from dtrain_lab.rank import preload
from dtrain_lab.rank.torch import names


def for_clusters() -> Loaded:
    """Load what a cluster's ranks need.

    Raises:
        ImportError: A module is missing.
        RuntimeError: This build of torch can't be used.
    """
    preload.load()
    names.lost()  # looked up once here: ranks inherit the answer
    import torch

    if not torch.distributed.is_available():
        raise RuntimeError("this build of torch has no torch.distributed")
    on_gpus = torch.version.cuda is not None or torch.version.hip is not None
    return Loaded(torch=str(torch.__version__), on_gpus=on_gpus)


def for_scripts() -> Loaded:
    """Load what a job's ranks need.

    Raises:
        ImportError: A module is missing.
    """
    preload.load_for_scripts()
    return Loaded()
