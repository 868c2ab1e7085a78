"""The rank that a launcher (`srun`, `torchrun`) has placed here, read from its environment.

Without a launcher, the arguments say which ranks this node makes.
"""

from __future__ import annotations

import os

from dtrain_lab.jobs import environment_variables


def ranks(arguments: list[str]) -> tuple[int, list[tuple[int, int]], int]:
    """Ranks to run here.

    Args:
        arguments: NODE and RANKS (the number of ranks per node); empty under a launcher.

    Returns:
        Index of this node, rank and local rank of each of its ranks, and the world size.
    """
    if arguments:
        node, count = int(arguments[0]), int(arguments[1])
        size = int(os.environ[environment_variables.SIZE])
        return node, [(node * count + local, local) for local in range(count)], size
    rank, local = int(os.environ["RANK"]), int(os.environ["LOCAL_RANK"])
    # torchrun sets the node's index as GROUP_RANK
    node = int(os.environ.get("NODE_RANK") or os.environ.get("GROUP_RANK") or "0")
    return node, [(rank, local)], int(os.environ["WORLD_SIZE"])
