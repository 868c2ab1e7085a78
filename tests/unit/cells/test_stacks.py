from __future__ import annotations

from dtrain_lab.cells.stacks import NONE_WAIT, StackTexts, Waiting, folded, position
from dtrain_lab.wire.stacks import Stack, StackFrame, Where

LINE = StackFrame(Where(cell="[7]", function="<module>", line=3), "    loss.backward()")
TORCH = StackFrame(Where(file="/site-packages/torch/_tensor.py", function="backward", line=9), library=True)


def test_a_rank_is_at_a_line_of_the_users_own_or_idle() -> None:
    assert position(Stack(0, "…", frames=(LINE, TORCH))) == "cell [7], line 3, in <module>"
    assert position(Stack(0, "…")) == "idle"
    assert position(Stack(0, None, "It has ended.")) == "It has ended."


WAITS = "  cell [7], line 3, in <module>\n    loss.backward()\n  in torch: backward"


def test_equal_stacks_are_shown_once_and_the_odd_one_first() -> None:
    found = [Stack(0, "a", frames=(LINE, TORCH)), Stack(1, "b"), Stack(2, "c", frames=(LINE, TORCH))]
    assert folded(found) == ["Rank 1: idle", f"Ranks 0, 2:\n{WAITS}"]
    texts = StackTexts(found, NONE_WAIT)
    assert texts == {0: "a", 1: "b", 2: "c"}, "all threads"
    assert str(texts) == f"Rank 1: idle\n\nRanks 0, 2:\n{WAITS}"


def test_who_is_waited_for_comes_first_and_who_waits_last() -> None:
    sleeps = StackFrame(Where(cell="[7]", function="rest", line=5), "time.sleep(60)")
    found = [Stack(0, "a", frames=(LINE, TORCH)), Stack(1, "b", frames=(LINE, sleeps))]
    late = "\n".join([*WAITS.splitlines()[:2], "  cell [7], line 5, in rest", "    time.sleep(60)"])
    assert folded(found, Waiting(waiting=frozenset((0,)))) == [f"Rank 1:\n{late}", f"Rank 0:\n{WAITS}"]
    blamed = Waiting(frozenset((1,)), frozenset((0,)))
    assert folded(found, blamed)[0] == f"Rank 1, which others wait for:\n{late}"
