"""Setup that ranks of clusters and of jobs share: threads, and hooks of the process group."""

from __future__ import annotations

import os
from collections.abc import Mapping

from dtrain_lab.rank import init_process_group, launchers, rpc
from dtrain_lab.rank.frameworks import torch_libraries
from dtrain_lab.rank.init_process_group import ExistingGroup
from dtrain_lab.rank.notes import Notes

CHOSEN_THREADS = "OMP_NUM_THREADS"
"""The variable with which users choose the number of threads; torch itself reads it once, as it is loaded."""


def set_threads(variables: Mapping[str, str], share: int | None = None) -> None:
    """Set the number of threads with which this rank and its child processes compute.

    Args:
        variables: environment variables that the user chose; OMP_NUM_THREADS takes precedence.
        share: this rank's share of its node's cores; None to leave the number as it is.
    """
    import torch

    chosen = variables.get(CHOSEN_THREADS)
    if chosen:
        torch.set_num_threads(int(chosen))
    elif share is not None:
        # child processes read them; the fork server ran with 1
        for name in (CHOSEN_THREADS, "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
            os.environ[name] = str(share)
        torch.set_num_threads(share)


def install_group_hooks(group: ExistingGroup, notes: Notes) -> None:
    """Make `init_process_group`, RPC, launchers and frameworks use the group that the ranks already form.

    Args:
        group: the process group of this rank.
        notes: tells the user what does nothing here.
    """
    init_process_group.install(group, notes)
    launchers.install(group, notes)
    rpc.install(group)
    torch_libraries.introduce(lambda: group.size > 1 and "nccl" not in group.collectives)
