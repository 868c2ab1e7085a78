"""MindSpore's scheduler: workers register there. `python -m dtrain_lab.rank.frameworks.mindspore_scheduler`.

It ends by itself once all workers have left. The agent of rank 0 starts it, and ends it with the ranks.
"""

from __future__ import annotations

import signal

from dtrain_lab.machine import processes


def main() -> None:
    """Serve until all workers have left."""
    processes.end_with_parent(signal.SIGKILL)
    import mindspore
    from mindspore.communication import init

    mindspore.set_context(device_target="CPU")  # the scheduler needs no device
    init()


if __name__ == "__main__":
    main()
