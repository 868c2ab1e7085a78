"""Editors for tests: VS Code's own test client (`vscode.cjs`, for Node), and a small one in Python."""

from __future__ import annotations

import contextlib
import queue
import subprocess
import sys
import threading
from pathlib import Path
from types import TracebackType
from typing import Any

import dtrain_lab
from dtrain_lab.debugger import framing

ADAPTER = Path(dtrain_lab.__file__).parent / "cli" / "adapter"
WITHIN_S = 40.0


class Editor:
    """An editor that has started the adapter as a child process."""

    def __init__(self, *arguments: str) -> None:
        command = (
            ["dtrain-lab", "debug", "--stdio", *arguments] if arguments else [sys.executable, str(ADAPTER)]
        )
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        self._answers: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self._events: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self._seq = 0
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        decoder = framing.Decoder()
        while data := self.process.stdout.read1(1 << 16):
            for message in decoder.feed(data):
                (self._events if message["type"] == "event" else self._answers).put(message)

    def ask(self, command: str, **arguments: Any) -> dict[str, Any]:
        """A request, and its answer."""
        self._seq += 1
        request = {"type": "request", "seq": self._seq, "command": command, "arguments": arguments}
        self.send(framing.encode(request))
        answer = self.answer()
        assert answer["request_seq"] == self._seq
        return answer

    def send(self, data: bytes) -> None:
        """Bytes, whatever they are."""
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def answer(self) -> dict[str, Any]:
        """The next answer."""
        return self._answers.get(timeout=WITHIN_S)

    def event(self, name: str) -> dict[str, Any]:
        """The content of the next event of this kind."""
        return self.next_of(name)[1]

    def next_of(self, *names: str) -> tuple[str, dict[str, Any]]:
        """The next event of one of these kinds: its name and content."""
        while True:
            event = self._events.get(timeout=WITHIN_S)
            if event["event"] in names:
                return event["event"], event["body"]

    def attach(self, **target: str) -> dict[str, Any]:
        """Begin a session."""
        assert self.ask("initialize", adapterID="dtrain-lab", clientName="A test")["success"]
        return self.ask("attach", **target)

    def __enter__(self) -> Editor:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        try:
            self.process.wait(20)
        finally:
            self.process.kill()
        for pipe in (self.process.stdout, self.process.stderr):
            assert pipe is not None
            pipe.close()
