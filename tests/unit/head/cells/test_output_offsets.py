"""What an agent brings of a rank that stands: shown once, whatever comes of the rank later."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dtrain_lab.head.cells.output_offsets import OutputOffsets
from dtrain_lab.wire.links import CellOutput, OutputStalled, OutputTail, PendingOutput


def output(text: str, through: int) -> CellOutput:
    return CellOutput(cell="c", rank=0, kind="stdout", text=text, through=through)


@given(
    st.lists(st.text(min_size=1, max_size=6), min_size=1, max_size=8), st.integers(0, 60), st.integers(0, 8)
)
def test_nothing_twice_and_nothing_lost(texts: list[str], cut: int, arrived: int) -> None:
    """Some texts have arrived when the agent is asked; it has more, perhaps half a letter; then the rest."""
    texts = [t.encode("utf-8", "replace").decode() for t in texts]
    written = "".join(texts).encode()
    confirmed, shown, through = OutputOffsets(), "", 0

    def arrives(text: str) -> None:
        nonlocal shown, through
        through += len(text.encode())
        left = confirmed.not_shown(output(text, through))
        confirmed.received(output(text, through))
        shown += left.text if left is not None else ""

    for text in texts[:arrived]:
        arrives(text)
    known = max(through, min(cut, len(written)))
    told = PendingOutput(rank=0, pid=1, words=(OutputTail("stdout", known, written[:known]),))
    shown += "".join(text for _, text in confirmed.pending(told))
    assert written[:known].decode("utf-8", "ignore") == shown
    for text in texts[arrived:]:
        arrives(text)
    assert shown == "".join(texts)


def test_it_is_asked_for_only_where_it_is_missing() -> None:
    confirmed = OutputOffsets()
    confirmed.received(output("abc", 3))
    assert not confirmed.lacks(OutputStalled(rank=0, stdout=3))
    assert confirmed.lacks(OutputStalled(rank=0, stdout=4))
    assert confirmed.lacks(OutputStalled(rank=0, stdout=3, stderr=1))
