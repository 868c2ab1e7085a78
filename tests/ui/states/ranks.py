"""Picture c: the Ranks view, of few, many and very many ranks."""

from __future__ import annotations

from msgspec.structs import replace

from dtrain_lab.wire.cluster import Rank
from dtrain_lab.wire.metrics.verdicts import Verdict
from dtrain_lab.wire.metrics.world import Metrics
from dtrain_lab.wire.summary import Summary
from tests.ui.states.stage import Stage
from tests.ui.states.state import PANEL, VIEW, State
from tests.ui.states.stuck import STUCK, hanging
from tests.ui.states.training import ADVICE, SLOW, sleeping
from tests.ui.states.worlds import NOW, cluster_of, metrics_of, past, ranks_of, training

FRAMES = {8: 40, 64: 30, 1024: 6}
"""How often the page hears of a world: what its heat map shows."""


def _verdict(size: int, slow: int) -> Verdict:
    count = size - 1
    values = {"ranks": f"{slow}", "count": count, "over_s": 0.061}
    text = f"Rank {slow} is slow. {count} ranks wait for it."
    return replace(SLOW, id=f"slow-{slow}", values=values, text=text, ranks=(slow,))


def _metrics(ranks: tuple[Rank, ...], verdict: Verdict | None) -> Metrics:
    if verdict is None:
        return metrics_of(ranks)
    return metrics_of(
        ranks,
        verdicts=(verdict,),
        slowest_rank=verdict.ranks[0],
        skew_s=0.061,
        advice=(ADVICE,),
        gradient_bytes=24_000_000,
        link_share=0.12,
        rank_batch=None if len(ranks) == 8 else 32,
        global_batch=None if len(ranks) == 8 else 32 * len(ranks),
    )


def _of(size: int, slow: int) -> State:
    def show(stage: Stage) -> None:
        name = f"sft-{size}"
        count = FRAMES[size]
        stage.at(NOW - 240)
        stage.answers("GET", f"clusters/{name}/history", past(size, 15))
        for n in range(count):
            late = n > count // 2
            ranks = ranks_of(size, 1700 + n, slow=slow if late else None, local=size == 8)
            verdict = _verdict(size, slow) if late else None
            metrics = _metrics(ranks, verdict)
            metrics = replace(metrics, values={**metrics.values, "step": 1700 + n})  # logged in each step
            world = training(name, ranks, metrics=metrics)
            if verdict:
                world = replace(world, summary=Summary("slow", verdict.values, verdict.text))
            stage.hear([world], after_s=240 / count)
            if n == 0:
                stage.command("dtrain-lab:show-ranks", id=name)
                stage.page.locator(VIEW).wait_for()
        stage.page.locator(f"{VIEW} [data-row='{slow}']").wait_for()

    return State(f"c-ranks-{size}", show, (VIEW,), pinned=size == 8, contrast=size == 8)


def _idle(stage: Stage) -> None:
    bare = tuple(
        Rank(r.rank, r.node, r.local_rank, r.device, r.pid, "idle", memory_bytes=r.memory_bytes)
        for r in ranks_of(4)
    )
    earlier = [replace(point, at=point.at - 600) for point in past(4)]
    stage.answers("GET", "clusters/local-4/history", earlier)
    stage.hear([cluster_of("local-4", bare)])
    stage.command("dtrain-lab:show-ranks", id="local-4")
    stage.page.locator(f"{VIEW} [data-row='3']").wait_for()
    stage.page.locator(f"{VIEW} [aria-label*='No steps in this period; the last were at']").first.wait_for()


def _new(stage: Stage) -> None:
    """Nothing has trained: its charts say so, and have no figures."""
    bare = tuple(
        Rank(r.rank, r.node, r.local_rank, r.device, r.pid, "idle", memory_bytes=r.memory_bytes)
        for r in ranks_of(4)
    )
    stage.hear([cluster_of("local-4", bare)])
    stage.command("dtrain-lab:show-ranks", id="local-4")
    stage.page.locator(f"{VIEW} [data-row='3']").wait_for()
    stage.page.locator(f"{VIEW} [aria-label*='No training steps yet.']").first.wait_for()


def _marks(stage: Stage) -> None:
    """Events close to each other, also at the end of the axis: each has its name."""
    points = past(8, 15)
    began = {len(points) - 30: 2, len(points) - 27: 5, len(points) - 6: 5, len(points) - 4: 7}
    lost = len(points) - 25
    earlier = [
        replace(
            p, slow=(began[i],) if i in began else (), lost=(1,) if i >= lost else (), generation=i > lost
        )
        for i, p in enumerate(points)
    ]
    stage.at(NOW)
    stage.answers("GET", "clusters/sft-8/history", earlier)
    world = training("sft-8", ranks_of(8, 1800))
    stage.hear([replace(world, world=replace(world.world, generation=1))])
    stage.command("dtrain-lab:show-ranks", id="sft-8")
    stage.page.locator(f"{VIEW} [role='img'][title*='rank 7 slows down']").first.wait_for()


def _sleeping(stage: Stage) -> None:
    """A loop that waits for something else: bar and table say so."""
    stage.at(NOW)
    stage.answers("GET", "clusters/sft-8/history", past(8, 15))
    ranks, metrics = sleeping(ranks_of(8, 1800))
    stage.hear([training("sft-8", ranks, metrics=metrics)])
    stage.command("dtrain-lab:show-ranks", id="sft-8")
    stage.page.locator(VIEW).get_by_role("button", name="Other waits ms").wait_for()


def _bounded(stage: Stage) -> None:
    """Communication that is known as a bound only: the chart draws it, and no estimate."""
    earlier = [
        replace(p, comm_overhead=0.02 + i % 3 / 100, comm_overhead_error=0.08) if i > 150 else p
        for i, p in enumerate(past(8, 15))
    ]
    stage.at(NOW - 10)
    stage.answers("GET", "clusters/sft-8/history", earlier)
    for n in range(2):
        ranks = ranks_of(8, 1800 + n)
        metrics = replace(metrics_of(ranks), comm_overhead=0.02, comm_overhead_error=0.08)
        stage.hear([training("sft-8", ranks, metrics=metrics)])
        if n == 0:
            stage.command("dtrain-lab:show-ranks", id="sft-8")
            stage.page.locator(VIEW).wait_for()
    stage.page.locator(f"{VIEW} [data-part='bound']").get_by_text("at most").wait_for()


WHERE_IS_WHOLE = """view => {
    document.querySelector(`${view} [data-row='7']`)?.scrollIntoView({ block: 'nearest' });
    const cells = [...document.querySelectorAll(`${view} [role=gridcell][title]`)];
    return cells.length > 0 && cells.every(cell => cell.scrollWidth <= cell.clientWidth);
}"""
"""The rows, which are drawn where they are seen, have no text that is cut off."""


def _stuck(stage: Stage) -> None:
    """Ranks hang: the table says where, with the number of the collective."""
    stage.at(NOW)
    stage.answers("GET", "clusters/sft-8/history", past(8, 15))
    stage.hear([training("sft-8", ranks_of(8))])
    stage.command("dtrain-lab:show-ranks", id="sft-8")
    stage.page.locator(f"{VIEW} [data-row='5']").wait_for(state="attached")
    stage.hear([hanging(STUCK)], after_s=1)
    stage.page.locator(VIEW).get_by_role("button", name="Where").wait_for()
    stage.page.wait_for_function(WHERE_IS_WHOLE, arg=VIEW)


STATES = (
    _of(8, 5),
    _of(64, 37),
    _of(1024, 777),
    State("c-ranks-idle", _idle, (VIEW, PANEL)),
    State("c-ranks-new", _new, (VIEW, PANEL)),
    State("c-ranks-marks", _marks, (VIEW,)),
    State("c-sleeping", _sleeping, (VIEW,)),
    State("c-bound", _bounded, (VIEW,)),
    State("c-stuck", _stuck, (VIEW,)),
)
