"""A sweep and its trials as a notebook or a terminal displays them, and the line of `Sweep.wait`."""

from __future__ import annotations

import asyncio
import io
import json
from types import SimpleNamespace
from typing import Any

import pytest
from IPython.lib.pretty import pretty
from msgspec.structs import replace

from dtrain_lab.api import prompts
from dtrain_lab.api.display.trial_display import MOST_ROWS, html_table, text_table
from dtrain_lab.api.display.wait_line import wait_line
from dtrain_lab.api.sweep import Sweep
from dtrain_lab.services.policy import parent_server
from dtrain_lab.sweeps.view import progress, shown
from dtrain_lab.wire.summary import Summary
from dtrain_lab.wire.sweeps import Sweep as Info
from tests.unit.sweeps.studies import begun, ended, sweep, through


def two_trials() -> Info:
    record, _ = through(sweep(2), *begun(0, "a"), *begun(1, "b"), ended(0, 3.0, 1.5), ended(1, 0.5))
    return shown(record, "/f", 9.0)


def api_sweep(*states: Info) -> Sweep:
    """A sweep that is seen in these states, one after the other."""

    async def adopted(_: str) -> Info:
        return states[-1]

    async def wait(_: str, on_sweep: Any) -> Info:
        for state in states:
            if on_sweep is not None:
                on_sweep(state)
        return states[-1]

    def call(work: Any) -> Any:
        return asyncio.run(work)

    portal = SimpleNamespace(sweeps=SimpleNamespace(adopted=adopted, wait=wait), call=call)
    return Sweep(portal, states[0])  # type: ignore[arg-type]


def test_a_sweep_is_displayed_with_its_trials_best_first() -> None:
    made = api_sweep(two_trials())
    html = made._repr_html_()
    assert html.startswith("<p><b>train</b>: 2 of 2 trials done; best loss 0.5 in trial 1.</p><table>")
    body = html[html.index("<tbody>") :]
    assert body.index("<b>1</b>") < body.index("<td>0</td>"), "the best is first, and emphasized"
    assert "<th>loss</th>" in html


def test_trials_stay_lists_of_dicts_and_are_displayed_as_tables() -> None:
    made = api_sweep(two_trials())
    trials, best = made.trials(), made.best()
    assert best is not None
    assert json.loads(json.dumps(trials))[1] == json.loads(json.dumps(best))
    assert [trial["value"] for trial in trials] == [1.5, 0.5]
    for value, rows in ((trials, 2), (best, 1)):
        assert value._repr_html_().count("<tr>") == rows + 1  # type: ignore[attr-defined,union-attr]
        lines = pretty(value).splitlines()
        assert len(lines) == rows + 1
        assert lines[0].split() == ["trial", "state", "parameters", "loss", "step", "time", "job"]
        assert "curve" not in pretty(value)


def test_a_list_of_trials_displays_what_it_contains() -> None:
    trials = api_sweep(two_trials()).trials()
    trials.sort(key=lambda trial: trial["value"])
    assert [line.split()[0] for line in pretty(trials).splitlines()[1:]] == ["1", "0"]
    html = trials._repr_html_()  # type: ignore[attr-defined]
    assert html.index("<b>1</b>") < html.index("<td>0</td>"), "the best is first, and still emphasized"
    del trials[1:]
    trials[0]["value"] = 0.25
    assert [line.split()[0] for line in pretty(trials).splitlines()] == ["trial", "1"]
    for each in (trials, trials[0]):
        assert "0.25" in pretty(each)
        assert "<td>0.25</td>" in each._repr_html_().replace("b>", "td>")  # type: ignore[attr-defined]
    del trials[0]["state"]
    for each in (trials, trials[0]):
        assert pretty(each) == repr(each), "what is no trial any longer is displayed as what it is"
        assert each._repr_html_() is None  # type: ignore[attr-defined]


def test_a_long_list_says_what_it_leaves_out_and_text_is_no_markup() -> None:
    info = two_trials()
    trial = replace(info.trials[0], reason=Summary("x", {}, "<b>no"), parameters={"path": "<i>"})
    many = [replace(trial, number=number) for number in range(MOST_ROWS + 2)]
    html = html_table("loss", many)
    assert html.endswith("<p>… and 2 more; trials() has all of them.</p>")
    assert "&lt;b&gt;no" in html
    assert "path &lt;i&gt;" in html
    assert text_table("loss", many).endswith("\n… and 2 more; trials() has all of them.")


def running() -> Info:
    record, _ = through(sweep(2, parallel=1), *begun(0, "a"), ended(0, 1.5), *begun(1, "b"))
    trial = replace(record.trials[1], state="running", started_at=5.0)
    return shown(replace(record, trials=(record.trials[0], trial)), "/f", 17.0)


def test_progress_says_what_runs_and_for_how_long() -> None:
    said = "train: 1 of 2 trials done; best loss 1.5 in trial 0. 1 running, for 13 s."
    assert progress(running()) == said
    assert progress(replace(running(), trials=())) == "train: 1 of 2 trials done; best loss 1.5 in trial 0."
    assert progress(two_trials()) == "train: 2 of 2 trials done; best loss 0.5 in trial 1."


class Handle:
    """A display, with what it has shown."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def display(self, data: dict[str, str], **options: Any) -> Handle:
        assert options == {"raw": True, "display_id": True}
        self.texts.append(data["text/plain"])
        return self

    def update(self, data: dict[str, str], *, raw: bool) -> None:
        assert raw
        self.texts.append(data["text/plain"])


@pytest.mark.parametrize("panel", [True, False])
def test_waiting_moves_one_line_on_in_a_notebook(panel: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    handle = Handle()
    monkeypatch.setattr(prompts, "kernel", lambda: object())
    monkeypatch.setattr(parent_server, "has_panel", lambda: panel)
    monkeypatch.setattr("IPython.display.display", handle.display)
    end = two_trials()
    made = api_sweep(running(), running(), end)
    assert made.wait() == "succeeded"
    begins, hint = progress(running()), f"Its trials: dtrain-lab sweep trials {made.id}"
    if panel:  # which other front ends lack
        hint = "See its trials live in the Distributed panel, under Jobs."
    # an equal state changes nothing; the hint goes with the wait
    assert handle.texts == [f"{begins}\n{hint}", f"{progress(end)}\n{hint}", progress(end)]
    seen: list[Info] = []
    assert made.wait(on_change=seen.append) == "succeeded"
    assert (len(seen), len(handle.texts)) == (3, 3), "who is told of each state shows it"


class Terminal(io.StringIO):
    """An error output that is a terminal."""

    def isatty(self) -> bool:
        return True


def test_waiting_writes_one_line_over_in_a_terminal_and_nothing_into_a_file(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert api_sweep(running(), two_trials()).wait() == "succeeded"
    assert capsys.readouterr() == ("", "")
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("COLUMNS", "41")
    with wait_line(
        "train: 0 of 2 trials done.", notebook=False, in_notebook="", in_terminal="More: here"
    ) as show:
        show("x" * 50)
    first, rest = terminal.getvalue().split("\n", 1)
    assert first == "More: here"
    assert rest == f"\rtrain: 0 of 2 trials done.\x1b[K\r{'x' * 39}…\x1b[K\n"
