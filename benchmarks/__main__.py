"""Run all benchmarks and write RESULTS.md."""

from __future__ import annotations

import datetime
import subprocess
import sys

from benchmarks.measure import PYTHON, ROOT, Row, collect, machine

ALL = (
    "start_and_memory",
    "cell_latency",
    "output",
    "recovery",
    "server_callbacks",
    "panel_update",
    "soak",
    "soak_training",
    "slurm_start",
    "jobs",
    "debugger",
    "overhead_truth",
    "monitor_cost",
    "hangs",
    "false_alarms",
    "stragglers",
    "head_scale",
    "advice",
    "forecast",
    "cheaper_averaging",
    "predict",
    "sweep",
    "sweep_kills",
)


def module(name: str) -> str:
    """Return the module of a benchmark by its name, which no two folders have."""
    found = [path for path in (ROOT / "benchmarks").glob("*/*.py") if path.stem == name]
    if len(found) != 1:
        sys.exit(f"There is no benchmark {name!r}; there are: {', '.join(ALL)}")
    return f"benchmarks.{found[0].parent.name}.{name}"


def main() -> int:
    """Run those named, or all."""
    names = sys.argv[1:] or ALL
    rows: list[Row] = []
    for name, path in [(name, module(name)) for name in names]:
        print(f"{name} …", flush=True)
        done = subprocess.run([PYTHON, "-m", path], capture_output=True, text=True, cwd=ROOT)
        print(done.stdout, done.stderr[-2000:] if done.returncode else "", flush=True)
        if done.returncode:
            return done.returncode
        rows += collect(done.stdout)
    table = ["| What | dtrain-lab | Peer, same run | Ratio | At most |", "|---|---|---|---|---|"]
    for row in rows:
        ratio = "–" if row.ratio is None else f"{row.ratio:.2f}"
        limit = "–" if row.limit is None else f"{row.limit:g}"
        table.append(f"| {row.what} | {row.ours} | {row.peer} | {ratio}{'' if row.ok else ' ✗'} | {limit} |")
    print("\n".join(table))
    if not sys.argv[1:]:
        today = datetime.date.today().isoformat()
        text = f"# Results\n\n{today}; {machine()}. Medians of interleaved repeats; trust the ratios.\n\n"
        (ROOT / "benchmarks" / "RESULTS.md").write_text(text + "\n".join(table) + "\n")
    return 0 if all(row.ok for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
