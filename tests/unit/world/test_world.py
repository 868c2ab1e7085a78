"""The membership state machine: no socket, no clock."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from dtrain_lab.metrics.verdicts.straggler import too_busy
from dtrain_lab.wire.cells import RunningCell
from dtrain_lab.wire.endings import Ending
from dtrain_lab.wire.metrics.verdicts import Verdict
from dtrain_lab.wire.metrics.world import Metrics
from dtrain_lab.wire.node_use import HostUse
from dtrain_lab.world import Event, Member, Members, State, initial, step
from dtrain_lab.world import actions as do
from dtrain_lab.world import events as on
from dtrain_lab.world.summary import if_ignored, summarize


def play(state: State, *events: Event) -> tuple[State, list[do.Action]]:
    """Feed events; returns the state and the actions of all."""
    done: list[do.Action] = []
    for event in events:
        state, actions = step(state, event)
        done += actions
    return state, done


def forked(size: int) -> State:
    state, _ = play(initial(), on.Launched(size, 1), on.NodeReady(0))
    return play(state, *(on.RankForked(rank, 100 + rank) for rank in range(size)))[0]


def ready(size: int = 3) -> State:
    state, _ = play(forked(size), *(on.RankJoined(rank, 100 + rank) for rank in range(size)))
    return play(state, *(on.GroupFormed(rank, state.generation) for rank in range(size)))[0]


def formed(state: State) -> State:
    """Everybody forms the present generation."""
    return play(state, *(on.GroupFormed(m.rank, state.generation) for m in state.members))[0]


def of(kind: type, actions: list[do.Action]) -> list[do.Action]:
    return [a for a in actions if isinstance(a, kind)]


def test_ranks_are_forked_once_all_parts_are_there_in_any_order() -> None:
    parts: list[Event] = [on.Launched(2, 2), on.NodeReady(0), on.NodeReady(1)]
    for order in ([0, 1, 2], [1, 2, 0], [2, 0, 1]):
        _, actions = play(initial(), *(parts[i] for i in order))
        assert of(do.ForkRanks, actions) == [do.ForkRanks((0, 1))]


def test_a_start_goes_through_connecting_to_ready() -> None:
    state = forked(2)
    assert state.phase == "starting"
    state, actions = play(state, on.RankJoined(0, 100), on.RankJoined(1, 101))
    assert state.phase == "connecting"
    assert of(do.FormGroup, actions) == [do.FormGroup(0, (0, 1))]
    state, _ = play(state, on.GroupFormed(0, 0))
    assert state.phase == "connecting"
    state, _ = play(state, on.GroupFormed(1, 0))
    assert (state.phase, state.generation) == ("ready", 0)


def test_a_rank_that_ends_while_it_starts_fails_the_world_with_its_last_line() -> None:
    state, actions = play(forked(2), on.RankExited(1, 101, 1, "Traceback\nImportError: no x\n"))
    assert state.phase == "failed"
    assert state.reason is not None
    assert "Rank 1 ended while it started: exited with code 1" in state.reason[1]
    assert state.reason[2] == "ImportError: no x"
    assert of(do.EndWorld, actions)


def test_a_node_without_torch_fails_the_world() -> None:
    state, _ = play(initial(), on.Launched(2, 1), on.NodeFailed(0, "no torch", "install it"))
    assert (state.phase, state.reason) == ("failed", ("node_failed", "no torch", "install it"))


def test_a_world_that_has_failed_before_its_launch_has_its_ranks_and_says_why() -> None:
    """On a busy machine, the fork server can't import torch before the client has sent the launch."""
    state, _ = play(initial(), on.NodeFailed(0, "no torch", "install it"))
    state, actions = play(state, on.Launched(2, 1))
    assert (state.phase, state.size, actions) == ("failed", 2, [])
    assert state.reason == ("node_failed", "no torch", "install it")
    assert play(state, on.Launched(3, 1))[0].size == 2


def test_an_interrupt_signals_first_and_breaks_collectives_later() -> None:
    state, _ = play(ready(), on.CellBegan("a", (0, 1, 2)))
    state, actions = play(state, on.InterruptAsked((0, 1, 2)))
    assert of(do.SignalRanks, actions) == [do.SignalRanks((0, 1, 2))]
    assert not of(do.AbortRanks, actions)
    state, _ = play(state, on.CellReplied(0, "interrupted"))
    state, actions = play(state, on.TimerFired("abort"))
    assert actions == [do.SignalRanks((1, 2)), do.AbortRanks((1, 2)), do.StartTimer("deaf", 5.0)]
    state, actions = play(state, on.CellReplied(1, "interrupted"), on.CellReplied(2, "raised"))
    assert (state.phase, state.generation) == ("rebuilding", 1)
    assert of(do.FormGroup, actions) == [do.FormGroup(1, ())]
    assert formed(state).phase == "ready"


def test_a_rank_that_nothing_frees_is_named_and_not_killed() -> None:
    state, _ = play(ready(2), on.CellBegan("a", (0, 1)), on.InterruptAsked((0, 1)))
    state, _ = play(state, on.CellReplied(0, "interrupted"))
    state, actions = play(state, on.TimerFired("abort"), on.TimerFired("deaf"))
    assert not of(do.KillRanks, actions)
    assert of(do.GiveUp, actions) == [do.GiveUp((1,))]
    assert state.reason is not None
    assert state.reason[1] == "Rank 1 does not answer the interrupt."
    assert state.deaf == (1,)
    state, actions = play(state, on.CellReplied(1, "interrupted"))
    assert (state.reason, state.deaf) == (None, ())
    assert of(do.FormGroup, actions), "its group can't be trusted"


def test_a_rebuild_that_waits_for_a_silent_rank_says_so_and_lets_it_be_restarted() -> None:
    state, _ = play(ready(3), on.CellBegan("a", (0, 1, 2)), on.RankExited(2, 102, -9, ""))
    state, _ = play(state, on.CellReplied(0, "interrupted"), on.TimerFired("abort"), on.TimerFired("deaf"))
    state, _ = play(state, on.RestartAsked((2,)), on.RankForked(2, 202), on.RankJoined(2, 202))
    assert state.phase == "rebuilding"
    state, _ = play(state, on.TimerFired("abort", 1), on.TimerFired("deaf", 1))
    assert (state.phase, state.deaf) == ("degraded", (1,))
    assert summarize("it", state, Metrics(), ()).text == "Rank 1 does not answer the interrupt."
    freed, actions = play(state, on.CellReplied(1, "interrupted"))
    assert of(do.FormGroup, actions)
    assert formed(freed).phase == "ready"
    state, actions = play(state, on.RestartAsked((1,)))
    assert of(do.KillRanks, actions) == [do.KillRanks((1,))]
    state, _ = play(state, on.RankExited(1, 101, -9, ""), on.RankForked(1, 201), on.RankJoined(1, 201))
    assert formed(state).phase == "ready"


def test_each_interrupt_has_its_own_time() -> None:
    state, _ = play(ready(2), on.CellBegan("a", (0,)), on.CellBegan("b", (1,)), on.InterruptAsked((0,)))
    state, actions = play(state, on.TimerFired("abort"))
    assert do.StartTimer("deaf", 5.0) in actions
    state, actions = play(state, on.InterruptAsked((1,)))  # 5 s later
    assert actions == [do.SignalRanks((1,)), do.StartTimer("abort", 0.25, 1)]
    state, actions = play(state, on.TimerFired("deaf"))
    assert (state.deaf, of(do.GiveUp, actions)) == ((0,), [do.GiveUp((0,))])
    state, actions = play(state, on.TimerFired("abort", 1))
    assert actions == [do.SignalRanks((1,)), do.AbortRanks((1,)), do.StartTimer("deaf", 5.0, 1)]
    state, _ = play(state, on.TimerFired("deaf", 1))
    assert state.deaf == (0, 1)
    assert state.reason is not None
    assert state.reason[1] == "Ranks 0–1 do not answer the interrupt."


def test_asking_again_does_not_put_the_verdict_off() -> None:
    state, _ = play(ready(1), on.CellBegan("a", (0,)), on.InterruptAsked((0,)), on.TimerFired("abort"))
    state, actions = play(state, on.InterruptAsked((0,)))
    assert actions == [do.SignalRanks((0,))]
    state, _ = play(state, on.TimerFired("deaf"))
    assert state.deaf == (0,)
    state, actions = play(state, on.InterruptAsked((0,)))
    assert actions == [do.SignalRanks((0,)), do.StartTimer("abort", 0.25, 1)], (
        "its collective is aborted anew"
    )


def test_hooks_of_ranks_that_nobody_interrupted_run_on() -> None:
    state, _ = play(ready(2), on.CellBegan("a", (0, 1)), on.CellReplied(1, "raised", sequence=1))
    _, actions = play(state, on.TimerFired("peers"))
    assert of(do.AbortRanks, actions) == [do.AbortRanks((0,), hooks=False)]
    state, _ = play(ready(2), on.CellBegan("a", (0, 1)), on.InterruptAsked((0, 1)))
    _, actions = play(state, on.TimerFired("abort"))
    assert of(do.AbortRanks, actions) == [do.AbortRanks((0, 1), hooks=True)]


def test_a_rank_whose_gpu_fails_is_the_one_to_replace() -> None:
    state, _ = play(ready(2), on.CellBegan("a", (0, 1)), on.InterruptAsked((0, 1)))
    state, _ = play(state, on.CellReplied(0, "interrupted"), on.CellReplied(1, "interrupted"))
    for why, hint in (
        ("CUDA error: an illegal memory access was encountered", "Replace it: %distributed restart 1"),
        ("refused", "Restart all ranks."),
    ):
        failed, _ = play(state, on.GroupFailed(1, state.generation, why))
        assert failed.reason is not None
        assert failed.reason[2] == hint
    formed, _ = play(state, on.GroupFormed(0, state.generation))
    for waiting, freed in ((state, (0, 1)), (formed, (1,))):
        _, actions = play(waiting, on.GroupFailed(1, state.generation, "refused"))
        assert of(do.AbortRanks, actions) == [do.AbortRanks(freed, hooks=False)], "who waits is freed"


def test_an_interrupt_of_an_idle_world_does_nothing() -> None:
    state, actions = play(ready(), on.InterruptAsked((0, 1, 2)))
    assert (state.phase, actions) == ("ready", [])


def test_the_same_error_everywhere_leaves_the_group_alone() -> None:
    state, _ = play(ready(2), on.CellBegan("a", (0, 1)))
    state, actions = play(
        state, on.CellReplied(0, "raised", sequence=7), on.CellReplied(1, "raised", sequence=7)
    )
    assert (state.phase, state.generation) == ("ready", 0)
    assert not of(do.FormGroup, actions)


def test_an_error_that_left_ranks_at_different_collectives_rebuilds_the_group() -> None:
    state, _ = play(ready(2), on.CellBegan("a", (0, 1)))
    state, _ = play(state, on.CellReplied(0, "raised", sequence=7), on.CellReplied(1, "ok", sequence=8))
    assert (state.phase, state.generation) == ("rebuilding", 1)


def test_peers_of_a_rank_that_raised_are_freed_after_a_grace() -> None:
    state, _ = play(ready(2), on.CellBegan("a", (0, 1)))
    state, actions = play(state, on.CellReplied(0, "raised", sequence=1))
    assert of(do.StartTimer, actions) == [do.StartTimer("peers", 1.0)]
    state, actions = play(state, on.TimerFired("peers"))
    assert of(do.AbortRanks, actions) == [do.AbortRanks((1,), hooks=False)]


def test_a_cell_that_failed_on_a_rank_while_its_peer_computes_says_so() -> None:
    state, _ = play(ready(2), on.CellBegan("a", (0, 1)))
    running = (RunningCell("[1]", None, (0, 1), 0.0),)
    state, _ = play(state, on.CellReplied(1, "raised", sequence=1))
    assert summarize("it", state, Metrics(), running).code == "running", "its peer may wait in a collective"
    state, _ = play(state, on.TimerFired("peers"))
    said = summarize("it", state, Metrics(), running)
    assert (said.code, said.values) == ("failing", {"ranks": "1", "still": "0"})
    assert said.text == "Rank 1 failed. Rank 0 still runs the cell."
    state, _ = play(state, on.CellReplied(0, "ok", sequence=1))
    assert summarize("it", state, Metrics(), ()).code != "failing"


def test_ranks_that_the_debugger_has_paused_are_said_to_be_with_the_error_that_has_stopped_them() -> None:
    state, error = ready(3), "ValueError: bad value 10"
    said = summarize("it", state, Metrics(), (), paused={0: "", 2: ""}, waiting={1: "barrier"})
    assert said.text == "Paused on 2 ranks. Rank 1 waits in barrier."
    waits = {"waiting": "1", "operations": "barrier"}
    assert said.values == {"ranks": "0,2", "count": 2, "total": 3, **waits}
    said = summarize("it", state, Metrics(), (), paused={0: "", 2: error})
    assert said.text == "Paused on 2 ranks. Rank 2 raised ValueError: bad value 10."
    assert (said.values["error"], said.values["raised"]) == (error, "2")
    said = summarize("it", state, Metrics(), (), paused={0: error, 2: error})
    assert said.text == "Paused on 2 ranks: ValueError: bad value 10."
    lost = "RuntimeError: Connection reset by peer"
    said = summarize("it", state, Metrics(), (), paused={0: lost, 1: error, 2: lost})
    leads = "Paused on 3 ranks. Rank 1 raised ValueError: bad value 10."
    assert said.text == f"{leads} Ranks 0, 2 were interrupted."
    assert said.values["raised"] == "1"


def test_the_first_word_of_ranks_that_wait_for_cores_is_about_training() -> None:
    state, _ = play(ready(2), on.CellBegan("a", (0, 1)))
    running = (RunningCell("[1]", None, (0, 1), 0.0),)
    busy = too_busy("box", HostUse(2, 1.0, runnable=7.2), alone=True)
    said = summarize("it", state, Metrics(step_s=0.1, current=True, even=True, verdicts=(busy,)), running)
    assert (said.code, said.text) == ("training_begun", "Training on 2 ranks.")


def test_a_cluster_whose_verdict_is_ignored_has_another_sentence() -> None:
    state, _ = play(ready(2), on.CellBegan("a", (0, 1)))
    running = (RunningCell("[1]", None, (0, 1), 0.0),)
    metrics = Metrics(verdicts=(Verdict("a", "stuck", "left", {}, "Rank 0 waits."),))
    told = summarize("it", state, metrics, running)
    ignored = if_ignored(told, state, metrics, running)
    assert ignored is not None
    assert (told.text, ignored.text) == ("Rank 0 waits.", "Running cell [1] on 2 ranks.")
    assert if_ignored(ignored, state, metrics, running) is None, "it tells no verdict"
    view = if_ignored(told, state, metrics, ())
    assert view is not None
    assert (view.code, view.text) == ("at_work", "2 ranks work."), "a view's calls are no cell"


def test_an_interrupt_leaves_peers_of_a_rank_that_raised_in_another_cell_alone() -> None:
    state, _ = play(ready(4), on.CellBegan("a", (0, 1)), on.CellBegan("b", (2, 3)))
    state, _ = play(state, on.CellReplied(0, "raised", sequence=1), on.TimerFired("peers"))
    state, _ = play(state, on.InterruptAsked((2, 3)))
    state, actions = play(state, on.TimerFired("abort"))
    assert of(do.SignalRanks, actions) == [do.SignalRanks((2, 3))]
    state, actions = play(state, on.TimerFired("deaf"))
    assert of(do.GiveUp, actions) == [do.GiveUp((2, 3))]
    state, _ = play(state, on.CellReplied(2, "interrupted"), on.CellReplied(3, "interrupted"))
    assert (state.reason, state.deaf, state.busy) == (None, (), (1,))
    state, actions = play(state, on.CellReplied(1, "ok", sequence=1))
    assert of(do.FormGroup, actions), "its collectives were aborted"


def test_a_cell_on_other_ranks_is_not_freed_with_them() -> None:
    state, _ = play(ready(3), on.CellBegan("a", (0, 1)), on.CellBegan("b", (2,)))
    state, _ = play(state, on.CellReplied(0, "raised", sequence=1))
    _, actions = play(state, on.TimerFired("peers"))
    assert of(do.AbortRanks, actions) == [do.AbortRanks((1,), hooks=False)]


def test_a_destroyed_group_is_formed_again() -> None:
    state, _ = play(ready(2), on.CellBegan("a", (0, 1)))
    state, _ = play(state, on.CellReplied(0, "ok", has_group=False), on.CellReplied(1, "ok", has_group=False))
    assert (state.phase, state.generation) == ("rebuilding", 1)


def test_a_lost_rank_fails_its_cell_frees_its_peers_and_waits_for_a_restart() -> None:
    state, _ = play(ready(), on.CellBegan("a", (0, 1, 2)))
    state, actions = play(state, on.RankExited(1, 101, -9))
    assert state.phase == "degraded"
    assert state.lost == (1,)
    assert of(do.FailCell, actions) == [do.FailCell(1, "killed by signal 9 (SIGKILL)")]
    assert of(do.AbortRanks, actions) == [do.AbortRanks((0, 2))]
    state, actions = play(state, on.CellReplied(0, "raised"), on.CellReplied(2, "interrupted"))
    assert state.phase == "degraded"
    assert not of(do.FormGroup, actions)
    state, actions = play(state, on.RestartAsked((1,)))
    assert of(do.ForkRanks, actions) == [do.ForkRanks((1,))]
    state, actions = play(state, on.RankForked(1, 201), on.RankJoined(1, 201))
    assert of(do.FormGroup, actions) == [do.FormGroup(1, (1,))]
    state = formed(state)
    assert (state.phase, state.lost, state.losses) == ("ready", (), ())


def two_lost() -> State:
    """Ranks 2 and 3 of four have died."""
    return play(ready(4), on.RankExited(2, 102, -9), on.RankExited(3, 103, -9))[0]


def test_a_restart_of_some_ranks_ends_while_another_is_lost() -> None:
    state, _ = play(two_lost(), on.RestartAsked((3,)), on.RankForked(3, 203))
    assert state.phase == "rebuilding"
    state, actions = play(state, on.RankJoined(3, 203))
    assert (state.phase, state.lost) == ("degraded", (2,))
    assert not of(do.FormGroup, actions)
    state, _ = play(state, on.RestartAsked((2,)), on.RankForked(2, 202))
    state, actions = play(state, on.RankJoined(2, 202))
    assert of(do.FormGroup, actions) == [do.FormGroup(1, (2, 3))]
    assert formed(state).phase == "ready"


def test_a_restart_of_living_ranks_ends_while_another_is_lost() -> None:
    state, _ = play(ready(3), on.RankExited(2, 102, -9), on.CellBegan("a", (0, 1)))
    state, _ = play(state, on.RestartAsked((0,)), on.CellReplied(1, "interrupted"))
    assert state.phase == "rebuilding"
    state, _ = play(state, on.RankExited(0, 100, -9), on.RankForked(0, 200))
    assert state.phase == "rebuilding"
    assert play(state, on.RankJoined(0, 200))[0].phase == "degraded"


def test_a_group_that_has_formed_leaves_no_reason_of_an_earlier_failure() -> None:
    state, _ = play(ready(2), on.RestartAsked((1,)), on.RankExited(1, 101, -9), on.TimerFired("join"))
    assert state.reason == ("rank_silent", "Rank 1 did not start in 120 s.", "Restart them.")
    state, _ = play(state, on.RankForked(1, 201), on.RankJoined(1, 201))
    state = formed(state)
    assert (state.phase, state.reason) == ("ready", None)


def test_a_rank_that_dies_while_the_group_forms_frees_those_that_wait_in_it() -> None:
    state, _ = play(ready(2), on.CellBegan("a", (0, 1)), on.InterruptAsked((0, 1)))
    state, _ = play(state, on.CellReplied(0, "interrupted"), on.CellReplied(1, "interrupted"))
    assert state.forming
    state, actions = play(state, on.RankExited(1, 101, -11))
    assert state.phase == "degraded"
    assert of(do.AbortRanks, actions) == [do.AbortRanks((0,))]


def test_a_restart_replaces_living_ranks_one_by_one_as_they_end() -> None:
    state, actions = play(ready(2), on.RestartAsked((0, 1)))
    assert of(do.KillRanks, actions) == [do.KillRanks((0, 1))]
    state, actions = play(state, on.RankExited(0, 100, -9), on.RankExited(1, 101, -9))
    assert of(do.ForkRanks, actions) == [do.ForkRanks((0,)), do.ForkRanks((1,))]
    assert state.phase == "rebuilding"
    assert not state.losses


def test_an_exit_of_a_past_process_is_no_loss() -> None:
    state = ready(2)
    after, actions = play(state, on.RankExited(1, 999, -9))
    assert (after.phase, actions) == ("ready", [])


def test_a_group_that_does_not_form_in_time_is_told() -> None:
    state, _ = play(ready(2), on.CellBegan("a", (0, 1)), on.InterruptAsked((0, 1)))
    state, _ = play(state, on.CellReplied(0, "interrupted"), on.CellReplied(1, "interrupted"))
    state, _ = play(state, on.GroupFormed(0, 1), on.TimerFired("form"))
    assert state.phase == "degraded"
    assert state.reason is not None
    assert "Rank 1 did not connect" in state.reason[1]


def test_stop_has_free_ranks_end_by_themselves_and_kills_those_that_would_not_hear() -> None:
    _, actions = play(ready(3), on.CellBegan("a", (1,)), on.StopAsked())
    assert [action.stopped for action in of(do.FailCell, actions)] == [True]
    who = Ending("kernel", "/home/me/b.ipynb", 5.0)
    after, told = play(ready(3), on.CellBegan("a", (1,)), on.StopAsked(ending=who))
    assert [action.ending for action in of(do.FailCell, told)] == [who]
    summary = summarize("it", after, Metrics(), ())
    assert summary.values.items() >= {"by": "kernel", "notebook": "b.ipynb", "at": 5.0}.items()
    ended, other = play(ready(3), on.CellBegan("a", (1,)), on.StopAsked("the time limit"))
    assert (after.reason, ended.reason) == (None, ("ended", "the time limit", ""))
    assert of(do.FailCell, other) == [do.FailCell(1, "the time limit")]
    assert of(do.KillRanks, actions) == [do.KillRanks((1,))]
    assert of(do.EndRanks, actions) == [do.EndRanks((0, 2))]


def test_stop_ends_once_all_are_gone() -> None:
    state, actions = play(ready(2), on.StopAsked())
    assert of(do.EndRanks, actions) == [do.EndRanks((0, 1))]
    assert not of(do.KillRanks, actions)
    state, actions = play(state, on.RankExited(0, 100, -9))
    assert (state.phase, actions) == ("stopping", [])
    state, actions = play(state, on.RankExited(1, 101, -9))
    assert state.phase == "stopped"
    assert of(do.EndWorld, actions)


RANK = st.integers(0, 4)
ANY_EVENT = st.one_of(
    st.builds(on.RankExited, RANK, st.integers(100, 102), st.sampled_from([-9, 1])),
    st.builds(on.RankForked, RANK, st.integers(200, 205)),
    st.builds(on.RankJoined, RANK, st.integers(200, 205)),
    st.builds(on.GroupFormed, RANK, st.integers(0, 3)),
    st.builds(on.GroupFailed, RANK, st.integers(0, 3), st.just("x")),
    st.builds(on.CellBegan, st.sampled_from("ab"), st.just((0, 1, 2))),
    st.builds(on.CellReplied, RANK, st.sampled_from(["ok", "raised", "interrupted"])),
    st.builds(on.InterruptAsked, st.just((0, 1, 2))),
    st.builds(on.RestartAsked, st.sampled_from([(0,), (1, 2)])),
    st.builds(on.ResizeAsked, st.integers(1, 5)),
    st.builds(
        on.TimerFired, st.sampled_from(["abort", "deaf", "peers", "form", "join", "stop"]), st.integers(0, 2)
    ),
    st.builds(on.StopAsked),
)


@settings(max_examples=300)
@given(st.lists(ANY_EVENT, max_size=25))
def test_whatever_happens_the_world_stays_consistent(events: list[Event]) -> None:
    state = ready(3)
    generation = state.generation
    for event in events:
        if any(rank >= state.size for rank in getattr(event, "ranks", ())):
            continue  # the head refuses such an order; late news of a removed rank may come
        state, actions = step(state, event)
        assert state.generation >= generation
        generation = state.generation
        for action in of(do.FormGroup, actions):
            assert all(m.joined and m.cell is None for m in state.members), action
        if state.phase == "ready":
            assert not state.lost
            assert all(m.generation == state.generation for m in state.members if not m.lost and m.joined)
        if state.phase in ("stopped", "failed"):
            assert step(state, on.InterruptAsked((0,)))[1] == []


@given(st.integers(0, 200), st.lists(st.integers(0, 199)))
def test_changed_members_are_new_ones_and_leave_the_others(size: int, ranks: list[int]) -> None:
    """Worlds of one page, of several, and exactly at the edge of one."""
    members, plain = Members(Member(r) for r in range(size)), [Member(r) for r in range(size)]
    for number, rank in enumerate(r for r in ranks if r < size):
        before = tuple(members)
        changed = members.changed(rank, pid=number)
        plain[rank] = Member(rank, pid=number)
        assert (tuple(members), tuple(changed)) == (before, tuple(plain))
        members = changed
    assert len(members) == size
    assert list(reversed(members)) == plain[::-1]
    assert members == Members(plain)
    assert members[:70] == tuple(plain[:70])
    assert not size or (members[-1], members[size - 1]) == (plain[-1], plain[-1])
