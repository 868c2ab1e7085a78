"""Picture f: ranks under JupyterLab's debugger.

A debugger of real ranks takes half a minute to start: what its kernel would tell is put into JupyterLab's own
debugger service, and the sidebar shows it as it shows the real one (which `notebook/test_debugger.py` has).
"""

from __future__ import annotations

import msgspec

from dtrain_lab.debugger.compare_values import AcrossGroup, AcrossRow
from dtrain_lab.debugger.state import Breakpoint, Collective, Outcome, RankView, SourceLocation, Wrong
from dtrain_lab.debugger.state import State as Debugged
from dtrain_lab.debugger.view import view
from dtrain_lab.wire.cluster import Cluster, World
from dtrain_lab.wire.summary import Summary
from dtrain_lab.world.paused_ranks import stop_error
from tests.ui.states.notebooks import LOOP, START, code, notebook
from tests.ui.states.stage import Stage
from tests.ui.states.state import DEBUGGER, NOTEBOOK, State
from tests.ui.states.worlds import PLACE, cluster_of, paused, paused_at, ranks_of, resting

CELL = "/tmp/ipykernel_1/1772453191.py"
OTHER_CELL = "/tmp/ipykernel_1/2880564302.py"
"""A cell of which the page has kept no conditions."""
HERE = SourceLocation(CELL, 10, "<module>")
WAITS = Collective("all_reduce", 412)
RANKS = tuple(
    RankView(rank, "running", True, operation=WAITS, place=HERE)
    if rank == 5
    else RankView(rank, "paused", True, "step", place=HERE)
    for rank in range(8)
)
PAUSED = Debugged(
    ranks=RANKS,
    on=True,
    focus=3,
    mode="all",
    points={CELL: (Breakpoint(10), Breakpoint(12, condition="rank == 5"))},
)
MANY = Debugged(
    ranks=tuple(
        RankView(rank, "paused", True, "step", place=SourceLocation("/home/ada/sft/model.py", 42, "forward"))
        if rank == 7
        else RankView(rank, "paused", True, "step", place=HERE)
        for rank in range(96)
    ),
    on=True,
    focus=7,
)
ENDED = Debugged(
    ranks=tuple(RankView(rank, "gone") for rank in range(8)),
    on=True,
    focus=3,
    outcome=Outcome(failed=True),
    ended=True,
)
FAILED = Debugged(
    ranks=tuple(RankView(rank, "idle", True) for rank in range(8)), on=True, outcome=Outcome(failed=True)
)
WRONG = msgspec.structs.replace(
    PAUSED,
    mode="some",
    wrong=(Wrong(CELL, 12, "NameError: name 'nosuch' is not defined", tuple(range(8))),),
    points={CELL: (Breakpoint(10), Breakpoint(12, condition="nosuch > 3"))},
)
RAISED = msgspec.structs.replace(
    PAUSED,
    ranks=tuple(
        RankView(
            rank,
            "paused",
            True,
            "exception",
            "ValueError: max() arg is an empty sequence",
            SourceLocation("/home/ada/sft/preparation.py", 31, "normalize"),
        )
        if rank == 5
        else RankView(rank, "running", True, operation=WAITS, place=HERE)
        for rank in range(8)
    ),
    focus=5,
)
"""*Pause on exceptions*: one rank has stopped at its error, and the others wait for it."""
ACROSS = (
    AcrossRow("step", True, (AcrossGroup(tuple(range(8)), "412"),), text="412 on all ranks"),
    AcrossRow(
        "batch['x']",
        False,
        (
            AcrossGroup((0, 1, 2, 3, 4, 6, 7), "float32[32, 2048]", shape=(32, 2048), dtype="float32"),
            AcrossGroup((5,), "float32[17, 2048]", True, (17, 2048), "float32"),
        ),
        text="its shape differs on rank 5",
    ),
    AcrossRow(
        "model",
        False,
        (
            AcrossGroup((0, 1, 2, 3, 4, 6, 7), "DistributedDataParallel"),
            AcrossGroup((5,), "DistributedDataParallel", True, nans=3, max_abs=0.031),
        ),
        first="layers.11.mlp.w2",
        differing=1,
        total=148,
        text="differs first in layers.11.mlp.w2 (1 of 148)",
    ),
)
RAISED_ACROSS = (
    AcrossRow(
        "loss",
        False,
        (AcrossGroup((5,), "1.84213", exact="1.842134952545166"),),
        text="1.84213 on rank 5",
        running=(0, 1, 2, 3, 4, 6, 7),
    ),
)
HEARS = """async ([path, cell, across, body]) => {
    const drawn = ms => new Promise(done => setTimeout(() => requestAnimationFrame(done), ms));
    const { commands, pluginRegistry, shell } = window.jupyterapp;
    const { service } = pluginRegistry._plugins.get('@jupyterlab/debugger-extension:service');
    const panel = shell.currentWidget;
    const before = service._session;
    // as long as the state is looked at: what can be done in a session is drawn whenever a command changes
    window.endDebugging = () => {
        service._session = before;
        delete window.endDebugging;
    };
    // the session that its kernel would have
    service._session = {
        isStarted: true,
        connection: {
            path,
            kernel: { name: 'python3' },
            statusChanged: { connect: () => true, disconnect: () => true },
            disposed: { connect: () => true, disconnect: () => true }
        },
        sendRequest: async (command, { expression }) => ({
            success: true, body: across.find(row => row.expression === expression) ?? {} }) };
    service._config.getCodeId = source => source.startsWith('%%distributed') ? cell : '';
    Object.defineProperty(panel.sessionContext, 'session', { get: () => ({ path }), configurable: true });
    service._eventMessage.emit({ type: 'event', event: 'dtrain/state', seq: 1, body });
    for (const { expression } of across) {
        await commands.execute('dtrain-lab:compare-variable', { expression });
    }
    await drawn(300);
    delete panel.sessionContext.session;
}"""
CAN_EVALUATE = f"{DEBUGGER} [data-command='debugger:evaluate']:not([aria-disabled='true'], [disabled])"
"""Its buttons are drawn as in a session, which they are some time after the session is there."""
FORGETS = """() => {
    document.querySelectorAll('.jp-DtrainDebug-across [data-expression] button').forEach(b => b.click());
    const { pluginRegistry } = window.jupyterapp;
    const { service } = pluginRegistry._plugins.get('@jupyterlab/debugger-extension:service');
    service.model.breakpoints.restoreBreakpoints(new Map());
}"""
RESTARTED = """path => {
    const { pluginRegistry } = window.jupyterapp;
    const { service } = pluginRegistry._plugins.get('@jupyterlab/debugger-extension:service');
    const points = [10, 12, 16].map(line => ({ line, verified: true, source: { path } }));
    service.model.breakpoints.restoreBreakpoints(new Map([[path, points]]));
}"""


def _world(state: Debugged) -> Cluster:
    """The cluster as its head tells of it meanwhile: its ranks stand, wait for a cell, or are gone."""
    size = len(state.ranks)
    name = f"sft-{size}"
    if state.ended:
        summary = Summary("stopped", {"lasted_s": 900.0}, "Stopped.")
        return cluster_of(name, (), state="stopped", summary=summary, world=World(size, 0), may=())
    ranks = ranks_of(size)
    if not state.paused:
        return cluster_of(name, resting(ranks))
    error = stop_error({r.rank: r.text for r in state.ranks if r.reason == "exception"})
    if error is not None:
        return paused_at(name, ranks, error)
    places = {r.place for r in state.ranks if r.phase == "paused"}
    waits = any(r.operation for r in state.ranks)
    return paused(name, ranks, waits=waits, at=PLACE if len(places) == 1 else None)


def _of(name: str, state: Debugged, rows: tuple[AcrossRow, ...] = (), *, pinned: bool = False) -> State:
    def show(stage: Stage) -> None:
        page = stage.page
        stage.hear([_world(state)])
        stage.notebook("train.ipynb", notebook(START, code(LOOP, (), 7)))
        page.evaluate("() => window.jupyterapp.shell.activateById('jp-debugger-sidebar')")
        page.locator(DEBUGGER).wait_for()
        page.evaluate(FORGETS)
        page.evaluate(
            HEARS, ["train.ipynb", CELL, msgspec.to_builtins(rows), msgspec.to_builtins(view(state))]
        )
        page.locator(".jp-DtrainDebug-ranks .jp-DtrainUi-sentence").wait_for()
        page.locator(CAN_EVALUATE).wait_for()
        stage.settle()

    return State(f"f-{name}", show, (DEBUGGER, f"{NOTEBOOK} .jp-Notebook"), pinned=pinned, contrast=pinned)


def _off(stage: Stage) -> None:
    stage.page.evaluate("() => window.jupyterapp.shell.activateById('jp-debugger-sidebar')")
    stage.page.locator("#dtrain-debug-ranks").wait_for()
    stage.page.evaluate(FORGETS)


def _restarted(stage: Stage) -> None:
    """A new kernel has its breakpoints, and no ranks yet: the list is JupyterLab's own."""
    _off(stage)
    stage.page.evaluate(RESTARTED, OTHER_CELL)
    stage.page.locator(".jp-DebuggerBreakpoint").last.wait_for()
    stage.settle()


STATES = (
    State("f-debugger-off", _off, (DEBUGGER,)),
    State("f-debugger-restarted", _restarted, (DEBUGGER,)),
    _of("debugger", PAUSED, ACROSS, pinned=True),
    _of("debugger-96-ranks", MANY),
    _of("debugger-failed", FAILED),
    _of("debugger-ended", ENDED),
    _of("debugger-wrong", WRONG),
    _of("debugger-raised", RAISED, RAISED_ACROSS),
)
