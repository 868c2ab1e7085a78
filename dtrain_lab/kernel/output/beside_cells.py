"""Answers what a page asks for ranks' widgets while this kernel runs a cell.

A kernel's main shell handles one message after another, so a page that is reloaded while a cell runs would
get no widgets until its end. JupyterLab sends messages of widgets to a subshell, a thread of ipykernel, but
it asks the main shell which widgets there are, and whether the kernel supports subshells.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

CONTROL = "jupyter.widget.control"
"""Comm target through which a reloaded page requests the states of all widgets at once."""
ABOUT_COMMS = frozenset({"comm_open", "comm_msg", "comm_close"})
REQUESTS = frozenset({"kernel_info_request", "comm_info_request"})


def asks_for_state(content: dict[str, Any]) -> bool:
    """Return whether a front end asks a widget for its state.

    Args:
        content: Content of a `comm_msg`.
    """
    data = content.get("data")
    return isinstance(data, dict) and data.get("method") == "request_state"


class BesideCells:
    """Has a subshell handle the requests of a reloaded page, and the messages of ranks' widgets.

    This applies to messages for the main shell while this kernel has widgets of ranks. A kernel without
    subshells (ipykernel 6) handles its messages as before.

    Args:
        kernel: The notebook's kernel.
        of_rank: Whether a comm is one of a rank.
        any_rank: Whether there is such a comm.
    """

    def __init__(self, kernel: Any, of_rank: Callable[[str], bool], any_rank: Callable[[], bool]) -> None:
        self._kernel = kernel
        self._of_rank = of_rank
        self._any_rank = any_rank
        self._thread: Any = getattr(kernel, "shell_channel_thread", None)
        self._own: Any = getattr(kernel, "shell_channel_thread_main", None)
        self._subshell: str | None = None
        if self._works:
            self._receive(self._receive_one)

    @property
    def _works(self) -> bool:
        return self._thread is not None and self._own is not None and hasattr(self._kernel, "shell_stream")

    def take_out(self) -> None:
        """Restore the kernel's own handling, and end the subshell."""
        if self._works:
            self._receive(self._own)
            self._thread.io_loop.add_callback(self._end_subshell)

    def _receive(self, handler: Callable[[Any], Any]) -> None:
        # the stream belongs to the thread of the shell channel
        self._thread.io_loop.add_callback(self._kernel.shell_stream.on_recv, handler, copy=False)

    def _end_subshell(self) -> None:
        """End the subshell's thread, in the thread of the shell channel: nobody else knows of it."""
        subshell, self._subshell = self._subshell, None
        if subshell is not None and subshell in self._thread.manager.list_subshell():
            self._thread.manager._delete_subshell(subshell)

    async def _receive_one(self, message: Any) -> None:
        """Handle a message in the thread of the shell channel."""
        try:
            taken = self._any_rank() and self._take(message)
        except Exception:  # the kernel must receive the message if a name of ipykernel has changed
            self._kernel.log.warning("a message was not handled beside the running cell", exc_info=True)
            taken = False
        if not taken:
            await self._own(message)

    def _take(self, message: Any) -> bool:
        session = self._kernel.session
        identities, frames = session.feed_identities(message, copy=False)
        read = session.deserialize(frames, content=False, copy=False)
        header = read["header"]
        if header.get("subshell_id") or not self._concerns(header["msg_type"], read["content"]):
            return False
        manager = self._thread.manager
        if self._subshell not in manager.list_subshell():
            self._subshell = manager._create_subshell()
        # a shell handles only messages that name it
        parts = [session.pack({**header, "subshell_id": self._subshell}), *(f.bytes for f in frames[2:5])]
        signed = [*identities, b"<IDS|MSG>", session.sign(parts), *parts, *frames[5:]]
        manager.get_shell_channel_to_subshell_socket(self._subshell).send_multipart(signed, copy=False)
        return True

    def _concerns(self, kind: str, packed: Any) -> bool:
        if kind not in ABOUT_COMMS:
            return kind in REQUESTS
        content: dict[str, Any] = self._kernel.session.unpack(packed)
        if kind == "comm_open":
            return bool(content["target_name"] == CONTROL)
        # a page shows no widget until it has the states of all, those of this kernel's own widgets, too
        return self._of_rank(content["comm_id"]) or asks_for_state(content)
