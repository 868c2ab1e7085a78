"""Output: a print's way to the front end, a flood, and what a dying rank printed; peer: blocking `%%px`."""

from __future__ import annotations

import os
import random
import re
import time

from benchmarks.cells.cell_latency import Kernel
from benchmarks.measure import Row, emit, middle

RANKS = 4
REPEATS = int(os.environ.get("BENCH_PRINTS", "30"))
FLOOD_BYTES = 8_000_000
LINE = 100
FLOOD = """
text = {text} * {width}
for number in range({lines}):
    print(text, f"{{number:010d}}")
"""
FLOODS = {
    name: FLOOD.format(text=text, width=LINE - 12, lines=FLOOD_BYTES // LINE)
    for name, text in (("the same", "'x'"), ("different", "str(rank)"))
}
"""What each rank prints: the same lines, which are shown once, or lines that no other rank prints."""
LATE = "import time\nprint(repr(time.time()))\ntime.sleep(0.35)"


class Heard:
    """What a front end got of one cell."""

    def __init__(self, kernel: Kernel, code: str) -> None:
        self.text = ""
        self.bytes = 0
        self.times: list[tuple[float, str]] = []
        shown: dict[str, str] = {}
        began = time.perf_counter()
        message = kernel.client.execute(code)
        while True:
            got = kernel.client.get_iopub_msg(timeout=300)
            if got["parent_header"].get("msg_id") != message:
                continue
            text = got["content"].get("text")
            if got["msg_type"] in ("display_data", "update_display_data"):  # %%px republishes the whole text
                text = got["content"]["data"].get("text/plain", "")
                place = got["content"]["transient"].get("display_id", "")
                shown[place] = text
            elif text is not None:
                self.text += text
            if text is not None:
                self.bytes += len(text)
                self.times.append((time.time(), text))
            if got["msg_type"] == "status" and got["content"]["execution_state"] == "idle":
                break
        self.text += "".join(shown.values())
        self.seconds = time.perf_counter() - began
        kernel.client.get_shell_msg(timeout=300)


def print_delays(kernel: Kernel, how: str) -> list[float]:
    """Seconds from each print to its arrival."""
    heard = Heard(kernel, how + LATE)
    first: dict[str, float] = {}
    for at, text in heard.times:
        for word in text.split():
            if word.count(".") == 1 and word.replace(".", "").isdecimal():
                first.setdefault(word, at)
    return [at - float(word) for word, at in first.items()]


Flooded = tuple[float, int, bool]
"""Seconds, bytes at the front end, and whether every rank's lines are all there in order."""


def flood(kernel: Kernel, how: str, code: str) -> Flooded:
    """Print a lot on every rank."""
    heard = Heard(kernel, how + code)
    numbers: dict[str, list[int]] = {}
    last = "?"
    for line in heard.text.split("\n"):
        label, _, rest = line.partition("] ") if line.startswith("[") else ("", "", line)
        last = label or last
        word = rest.rsplit(" ", 1)[-1]
        if word.isdecimal() and len(word) == 10:
            for rank in _ranks(last):
                numbers.setdefault(rank, []).append(int(word))
    expected = list(range(FLOOD_BYTES // LINE))
    whole = len(numbers) == RANKS and all(found == expected for found in numbers.values())
    return heard.seconds, heard.bytes, whole


def _ranks(label: str) -> list[str]:
    from dtrain_lab.cells import rank_sets

    text = label.removeprefix("[").removeprefix("stdout:").rstrip("]").strip()
    return [str(r) for r in rank_sets.parse(text, 64)] if text and text != "?" else []


def death(kernel: Kernel, end: str) -> tuple[float, int]:
    """Seconds from a rank's end to the cell's, and lines that were lost. Restarts the rank."""
    lines = 20_000
    code = f"%%distributed 1\nimport os, signal, ctypes, time\nfor n in range({lines}): print('line', n)\n"
    heard = Heard(kernel, f"{code}print('END', repr(time.time()))\n{end}")
    ended = time.time()
    at = next(float(line.split()[-1]) for line in heard.text.splitlines() if "END" in line)
    kernel.run("%distributed restart 1")
    return ended - at, lines - len(re.findall(r"^\[1\] line \d+$", heard.text, re.MULTILINE))


def floods(kernel: Kernel) -> list[Row]:
    """Rows of both floods, each beside `%%px` in turns."""
    rows: list[Row] = []
    for (lines, code), limit in zip(FLOODS.items(), (1.25, 0.8), strict=True):
        found: dict[str, list[Flooded]] = {"ours": [], "px": []}
        for _ in range(3):
            found["ours"].append(flood(kernel, "%%distributed\n", code))
            found["px"].append(flood(kernel, "%%px\n", code))
        ours_s, px_s = (middle([s for s, _, _ in found[k]]) for k in ("ours", "px"))
        ours_b, px_b = (middle([b for _, b, _ in found[k]]) for k in ("ours", "px"))
        whole = all(ok for _, _, ok in found["ours"])
        rows.append(
            Row(
                f"8 MB of {lines} lines from each of 4 ranks, "
                f"{'all there in order' if whole else 'LINES MISSING'}: time",
                f"{ours_s:.2f} s",
                f"{px_s:.2f} s, %%px",
                ours_s / px_s if whole else 99.0,
                limit,
            )
        )
        if lines == "the same":
            rows.append(
                Row(
                    "the same: bytes at the front end",
                    f"{ours_b / 1e6:.0f} MB",
                    f"{px_b / 1e6:.0f} MB, %%px",
                    ours_b / px_b,
                    0.4,
                )
            )
    return rows


def main() -> None:
    """All figures."""
    kernel = Kernel()
    try:
        kernel.run("%load_ext dtrain_lab")
        kernel.run(f"%distributed start --ranks {RANKS} --no-monitor")
        kernel.run(
            # ipyparallel's own view, which takes no turns with cells
            "import dtrain_lab as dt\nview = dt.clusters()[0].view().client[:]\n"
            "view.block = True\nview.activate()"
        )
        delays: dict[str, list[float]] = {"one": [], "all": [], "px": []}
        turns = [("one", "%%distributed 0\n"), ("all", "%%distributed\n"), ("px", "%%px --targets 0\n")]
        for _ in range(REPEATS):
            random.shuffle(turns)
            for name, how in turns:
                delays[name] += print_delays(kernel, how)
        flooded = floods(kernel)
        ends = {
            "os._exit": "os._exit(3)",
            "SIGKILL": "os.kill(os.getpid(), signal.SIGKILL)",
            "a segfault": "ctypes.string_at(0)",
        }
        deaths = {name: [death(kernel, code) for _ in range(3)] for name, code in ends.items()}
    finally:
        kernel.close()
    one, everyone, px = (middle(delays[k]) for k in ("one", "all", "px"))
    peer = f"{px * 1e3:.0f} ms, %%px"
    rows = [
        Row("print on one rank to the front end, p50", f"{one * 1e3:.1f} ms", peer, one / px, 0.12),
        Row(
            "print on all 4 ranks, merged, p50; limit 25 ms", f"{everyone * 1e3:.1f} ms", "–",
            everyone / 0.025, 1.0,
        ),
        *flooded,
    ]  # fmt: skip
    for name, found in deaths.items():
        seconds, lost = middle([s for s, _ in found]), max(n for _, n in found)
        rows.append(
            Row(
                f"a rank ends by {name} in mid-print: {lost} lines lost; its cell ends (limit 0.3 s)",
                f"{seconds:.2f} s",
                "all lost, 2.3 s, %%px (findings)",
                seconds / 0.3 if not lost else 99.0,
                1.0,
            )
        )
    emit(rows)


if __name__ == "__main__":
    main()
