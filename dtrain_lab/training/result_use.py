"""How a caller uses the result of its current call, as its bytecode tells. No other file depends on it.

`dt.checkpoint(step)` alone marks a checkpoint, and `with dt.checkpoint(step)` marks it at the end of the
block. Both are documented, and Python tells the called function nothing of what follows. The other ways to
know it are worse: a finalizer would run a collective wherever the object happens to be freed, and an argument
would repeat what the statement says already.

Without it, on a Python whose instructions have other names, each use is `KEPT`. Then checkpoints with files
in their folder are marked as before. A call alone marks nothing if the folder is empty, and what an earlier
attempt has left in a block's folder counts as complete until the block is entered, a moment later.
"""

from __future__ import annotations

import dis
import sys
from typing import Literal

ResultUse = Literal["block", "alone", "kept"]
"""`block`: a `with` block follows. `alone`: the result is unused. `kept`: it is assigned or passed on."""
KEPT: ResultUse = "kept"

UNCOUNTED = ("CACHE", "EXTENDED_ARG")
"""Instructions that belong to another one."""
BLOCK = (("BEFORE_WITH",), ("COPY", "LOAD_SPECIAL"))
"""The next instructions where a block follows: until Python 3.13; since 3.14."""
ALONE = (("POP_TOP",), ("PRINT_EXPR",), ("CALL_INTRINSIC_1",))
"""The same where the result is unused. The value of a cell's last line is shown, by a function of its own
or one that is built in."""
ALONE_IN_MODULE = ("RETURN_VALUE",)
"""The same at the end of a job's cell, whose last line is compiled by itself; a function returns it."""


def result_use() -> ResultUse:
    """Return how the result of the function that calls this one will be used by its own caller."""
    try:
        caller = sys._getframe(2)
        after = [step.opname for step in dis.get_instructions(caller.f_code) if step.offset > caller.f_lasti]
    except (AttributeError, ValueError):  # no frame, or none with bytecode
        return KEPT
    names = tuple(name for name in after if name not in UNCOUNTED)[:2]
    if any(names[: len(start)] == start for start in BLOCK):
        return "block"
    alone = (*ALONE, ALONE_IN_MODULE) if caller.f_code.co_name == "<module>" else ALONE
    return "alone" if any(names[: len(start)] == start for start in alone) else KEPT
