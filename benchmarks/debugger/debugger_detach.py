"""What the debugger costs a loop of Python calls: before, while it is attached, and after it has let go.

Of the interpreter that runs this; it needs debugpy and msgspec, and neither torch nor a cluster, so that it
can be asked of interpreters that have no PyTorch:
`PYTHONPATH=. python3.12 -m benchmarks.debugger.debugger_detach`.
"""

from __future__ import annotations

import asyncio
import json
import sys
import threading
import time

from dtrain_lab.rank.debugger import tracing
from dtrain_lab.rank.debugger.adapter import Adapter

CALLS = 300_000
REPEATS = 15


def inner(number: int) -> int:
    """Called by the loop."""
    return number + 1


def loop() -> float:
    """Seconds of it."""
    began = time.perf_counter()
    total = 0
    for number in range(CALLS):
        total += inner(number)
    return time.perf_counter() - began


def main() -> None:
    """Measure, and print one line of JSON: the best of some, since "never" can't be asked again."""
    inside = asyncio.new_event_loop()
    thread = threading.Thread(target=inside.run_forever, daemon=True)
    # as the link's thread of a rank: pydevd neither traces it nor waits for it
    thread.pydev_do_not_trace = thread.is_pydev_daemon_thread = True  # type: ignore[attr-defined]
    thread.start()
    adapter = Adapter(inside, lambda *_: None)

    async def attach() -> None:
        await adapter.install()
        await adapter.attach()

    async def detach() -> None:
        await adapter.ask("disconnect", {"terminateDebuggee": False})
        adapter.wake()
        tracing.stop_tracing()

    never = [loop() for _ in range(REPEATS)]
    attached, after = [], []
    for _ in range(REPEATS):
        asyncio.run_coroutine_threadsafe(attach(), inside).result(30)
        attached.append(loop())
        asyncio.run_coroutine_threadsafe(detach(), inside).result(30)
        after.append(loop())
    found = {
        "python": f"{sys.version_info.major}.{sys.version_info.minor}",
        "never_s": min(never),
        "attached_s": min(attached),
        "after_s": min(after),
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
