from __future__ import annotations

from dtrain_lab.cells.stacks import folded, place
from dtrain_lab.wire.stacks import Stack, StackFrame, Where

LINE = StackFrame(Where(cell="[7]", function="<module>", line=3), "    loss.backward()")
TORCH = StackFrame(Where(file="/site-packages/torch/_tensor.py", function="backward", line=9), library=True)


def test_a_rank_is_at_a_line_of_the_users_own_or_idle() -> None:
    assert place(Stack(0, "…", frames=(LINE, TORCH))) == "cell [7], line 3, in <module>"
    assert place(Stack(0, "…")) == "idle"
    assert place(Stack(0, None, "It has ended.")) == "It has ended."


def test_equal_stacks_are_shown_once_and_the_odd_one_first() -> None:
    found = [Stack(0, "a", frames=(LINE, TORCH)), Stack(1, "b"), Stack(2, "c", frames=(LINE, TORCH))]
    assert folded(found) == [
        "Rank 1: idle",
        "Ranks 0, 2\n  cell [7], line 3, in <module>\n    loss.backward()\n"
        '  File "/site-packages/torch/_tensor.py", line 9, in backward',
    ]
