"""The training monitor: steps, samples, data and communication, without a line of user code.

Hooks in torch write integers into a ring that the node agent reads. Only the main thread counts: a
collective in another thread does not stop training. Never changes a result; a hook that can't read
something leaves that figure out.
"""

from __future__ import annotations

from dtrain_lab.core.estimate.ring import Writer
from dtrain_lab.rank.monitor.collectives import watch_collectives
from dtrain_lab.rank.monitor.recorder import Recorder
from dtrain_lab.rank.monitor.steps import watch_steps
from dtrain_lab.training import step


def install(memory: memoryview, world_size: int) -> Recorder:
    """Watch this process.

    Args:
        memory: the metrics ring, shared with the node agent.
        world_size: 1 leaves communication out: there is none.
    """
    recorder = Recorder(Writer(memory))
    watch_collectives(recorder)
    watch_steps(recorder, sync=world_size > 1)
    step.to(recorder.user_stepped)
    return recorder
