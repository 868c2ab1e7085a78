"""What the kernel publishes of a cell beside its output."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from dtrain_lab.kernel.output.emitter import Emitter


class Outgoing(list[Any]):
    """In place of the kernel's socket."""

    send = list.append


def test_who_has_stopped_a_cluster_is_told_without_an_output_that_notebooks_keep() -> None:
    """As found: an empty display was an empty block in the HTML, Markdown and LaTeX that nbconvert makes."""
    emitter = Emitter(SimpleNamespace(kernel=None), (0,))
    outgoing = Outgoing()
    emitter.__dict__.update(_kernel=object(), _outgoing=outgoing, _parent={}, _captured=None)
    emitter.note_stop({"by": "server"})
    emitter.note_stop({"by": "server"})
    one, other = outgoing
    assert one.kind == "update_display_data"
    assert (one.content["data"], one.content["metadata"]) == ({}, {"dtrain": {"stop": {"by": "server"}}})
    ids = {message.content["transient"]["display_id"] for message in (one, other)}
    assert len(ids) == 2, "no display has such an id, which front ends therefore ignore"
