from __future__ import annotations

import re
from itertools import combinations
from random import Random
from statistics import fmean

import pytest
from msgspec.structs import replace

from dtrain_lab.metrics import communication
from dtrain_lab.metrics import diagnosis_text as text_of
from dtrain_lab.metrics.advice import advise
from dtrain_lab.metrics.advice.diagnosis_certainty import denies_waiting_for_data
from dtrain_lab.metrics.advice.measured import measured, waiting_share, with_diagnosis
from dtrain_lab.metrics.advice.reasons import why_none
from dtrain_lab.metrics.diagnosed_loop import Loops
from dtrain_lab.metrics.diagnosis import RUNS, StepTimings, conclude, from_live
from dtrain_lab.metrics.diagnosis_text import READS_NONE
from dtrain_lab.metrics.estimates import with_metrics
from dtrain_lab.metrics.measured_communication import (
    last_of,
    last_with_measured,
    of_running,
    splits_with_measured,
    with_measured,
)
from dtrain_lab.rank.diagnosis.windows import feeding, scheme, trial_steps
from dtrain_lab.wire.cluster import Rank
from dtrain_lab.wire.links import RankSample
from dtrain_lab.wire.metrics.diagnosis import Check, Diagnosis
from dtrain_lab.wire.metrics.verdicts import Verdict
from dtrain_lab.wire.metrics.world import Metrics
from dtrain_lab.wire.stacks import Where


def timings(
    rank: int, with_ms: float, without_ms: float, real_ms: float = 0, loop_s: float | None = None
) -> StepTimings:
    real = (real_ms / 1e3,) * 5 if real_ms else ()
    return StepTimings((with_ms / 1e3,) * 5, (without_ms / 1e3,) * 5, real, loop_s)


def test_both_checks_end_in_a_sentence_and_a_number() -> None:
    found = conclude([timings(0, 20, 15, 40), timings(1, 20, 15, 40)])
    assert found.communication is not None
    assert found.data is not None
    assert found.communication.share == pytest.approx(0.125), "5 of 40 ms"
    assert found.communication.text == (
        "Communication takes 12 % ± 1 of a whole step of 40 ms: a step without it is 5 ms faster."
    )
    assert found.data.share == pytest.approx(0.5)
    assert found.data.text == (
        "Waiting for data takes 50 % ± 1 of a step: 40 ms with the loader, 20 ms without it."
    )
    assert found.text == "Input-bound: 50 % ± 1 of a step waits for data."


def test_a_step_that_waits_for_data_is_input_bound_however_much_of_the_rest_is_communication() -> None:
    found = conclude([timings(0, 2.7, 0.3, 20), timings(1, 2.7, 0.3, 20)])
    assert found.text == "Input-bound: 86 % ± 1 of a step waits for data."
    assert found.communication is not None
    assert found.communication.share == pytest.approx(0.12)


def test_a_wide_share_and_the_times_beside_it_belong_together() -> None:
    """As found: "at most 37 % of a step of 64.6 ms: 7.53 ms", and "at least 63 %: 64.6 ms with"."""
    said = text_of.data(0.883, 0.25, 0.0646, 0.00753, 0.0646)
    assert said == (
        "Waiting for data takes 88 % of a step (63 to 100 %): 64.6 ms with the loader, 7.53 ms without it."
    )
    said = text_of.communication(0.12, 0.25, 0.0646, 0.0568, 0.0646)
    assert said == "Communication takes 12 % of a step (0 to 37 %): 64.6 ms with it, 56.8 ms without."
    seen = StepTimings((0.010, 0.005, 0.010), (0.0001, 0.001, 0.001), (0.09, 0.04, 0.06), 0.06)
    found = conclude([seen, seen])
    assert [check.text for check in (found.communication, found.data) if check is not None] == [
        "Communication takes 11 % ± 11 of a step of 60 ms: all of the 6.5 ms that computation and waiting "
        "for data leave.",
        "Waiting for data takes 88 % ± 10 of a step: 60 ms with the loader, 7.5 ms without it.",
    ]
    seen = StepTimings((0.030, 0.005, 0.010), (0.001, 0.0001, 0.0001), (0.07, 0.07, 0.09))
    found = conclude([seen, seen])
    assert [check.text for check in (found.communication, found.data) if check is not None] == [
        "Communication takes 14 % ± 1 of a whole step of 70 ms: a step without it is 9.8 ms faster.",
        "Waiting for data takes 86 % of a step of 70 ms (37 to 100 %): all of the 60.1 ms that computation "
        "and communication leave.",
    ]


def test_slow_steps_are_run_less_often() -> None:
    assert scheme(0.05) == (9, 4), "fast ones more often"
    assert scheme(0.1) == (5, 4)
    assert scheme(3) == (3, 3)
    assert scheme(60) == (2, 2)


def test_a_window_of_fast_steps_is_longer_than_the_turn_of_another_process() -> None:
    """Windows of 2 ms were between the turns of other work: 43 % ± 4 of a step, a moment later 76 % ± 20."""
    for step_s in (0.0005, 0.002, 0.02):
        cycles, steps = scheme(step_s)
        assert 0.19 < steps * step_s < 0.23
        assert cycles * steps * step_s <= 2
        assert (trial_steps(step_s) - 1) * step_s >= 0.05
    assert trial_steps(0.06) == 2
    assert feeding(10_000, 1, 0.002, 9) == (5, 112), "as long with the loader, if it has as many batches"


def test_what_workers_read_ahead_is_not_counted_and_no_batch_is_missing() -> None:
    assert feeding(1000, 1, 0.02, 5) == (5, 13)
    assert feeding(1000, 9, 0.02, 5) == (5, 21)
    for available in range(3, 60):
        for ahead in range(1, available):
            cycles, steps = feeding(available, ahead, 0.02, 5)
            assert cycles * steps <= available
            assert steps > ahead
    assert feeding(1000, 1, 10, 2) == (2, 2), "slow ones are run less often"
    assert feeding(1000, 65, 0.3, 5)[0] == 3, "and so are those that read far ahead"
    assert feeding(1000, 65, 3.0, 5)[0] == 1


def test_without_a_loader_communication_is_of_the_step_that_repeats_a_batch() -> None:
    found = conclude([timings(0, 20, 15), timings(1, 20, 15)])
    assert found.communication is not None
    assert found.communication.text == (
        "Communication takes 25 % ± 1 of a step: 20 ms with it, 15 ms without."
    )
    assert found.text == "Communication-bound: 25 % ± 1 of a step."


def test_what_spreads_is_said_to_be_unsure() -> None:
    spread = StepTimings((0.02, 0.03, 0.022, 0.04, 0.025), (0.015,) * 5)
    found = conclude([spread, spread])
    assert found.communication is not None
    assert found.communication.error > 0.05
    assert found.data is None


@pytest.mark.parametrize(("cycles", "least"), [(3, 0.85), (5, 0.88), (9, 0.9)])
def test_the_error_of_few_cycles_holds_about_nine_times_out_of_ten(cycles: int, least: float) -> None:
    random = Random(3)

    def times(base: float) -> tuple[float, ...]:
        return tuple(base * random.gauss(1, 0.1) for _ in range(cycles))

    held = 0
    for _ in range(400):
        found = conclude([StepTimings(times(0.02), times(0.012))] * 2).communication
        assert found is not None
        held += abs(found.share - 0.4) <= found.error
    assert held / 400 >= least


def test_repeated_diagnoses_of_a_loop_on_a_busy_machine_agree_within_their_errors() -> None:
    """Some windows are far off: by the median deviation alone, the error was small by chance."""
    random = Random(5)

    def times(base: float) -> tuple[float, ...]:
        return tuple(
            base * random.gauss(1.2, 0.02) * (random.uniform(1.2, 2.5) if random.random() < 0.35 else 1)
            for _ in range(9)
        )

    found = [conclude([StepTimings(times(0.05), times(0.045))] * 2).communication for _ in range(40)]
    pairs = [(a, b) for a, b in combinations(found, 2) if a is not None and b is not None]
    overlap = [abs(a.share - b.share) <= a.error + b.error for a, b in pairs]
    assert sum(overlap) / len(overlap) >= 0.98


def test_a_share_that_was_measured_once_is_not_sure() -> None:
    found = conclude([StepTimings((0.02,) * 5, (0.015,) * 5, (0.04,))] * 2)
    assert found.data is not None
    assert (found.data.share, found.data.error) == (pytest.approx(0.5), pytest.approx(0.25))


def test_steps_that_took_another_time_in_the_loop_are_error() -> None:
    def error(loop_s: float) -> float:
        found = conclude([timings(r, 20, 12, loop_s=loop_s) for r in (0, 1)]).communication
        assert found is not None
        assert found.share == pytest.approx(0.4)
        return found.error

    assert error(0.02) == pytest.approx(0.01)
    assert error(0.025) == pytest.approx(0.4 / 5), "a fifth of the loop may be its own code"
    assert error(0.016) == pytest.approx(0.6 / 5), "the machine was busier meanwhile, in any part"


def test_one_rank_has_no_communication_to_check() -> None:
    found = conclude([timings(0, 20, 20, 21)])
    assert found.communication is None
    assert found.text == "Computation takes the time: data is not worth a change."
    skipped = StepTimings((0.02,), (0.02,), skipped={"data": "No DataLoader was read."})
    assert conclude([skipped]).notes == ("No DataLoader was read.",)


def test_of_a_loop_that_runs_the_monitor_knows() -> None:
    found = from_live(Metrics(step_s=0.1, data_s=0.02, comm_overhead=0.4, comm_overhead_error=0.02))
    assert found.source == "live"
    assert found.text == "Communication-bound: 40 % ± 2 of a step."
    assert found.communication is not None
    assert found.data is not None
    assert found.communication.text == (
        "Communication takes 40 % ± 2 of a step of your own loop: 40 ms of 100 ms."
    )
    assert found.data.text == "Waiting for data takes 20 % ± 1 of a step of your own loop: 20 ms of 100 ms."
    assert found.notes == (RUNS,)


def test_of_a_loop_that_runs_its_own_code_is_named_as_after_its_end() -> None:
    own = Metrics(
        step_s=0.1, data_s=0.0, compute_s=0.02, optimizer_s=0.0, comm_overhead=0.03, comm_overhead_error=0.01
    )
    assert from_live(own).text == "Your loop's own code takes the time: 77 % ± 1 of a step."
    rough = from_live(replace(own, comm_overhead_error=0.2)).text
    assert rough == "Your loop's own code takes the time: 77 % ± 20 of a step.", "all parts are as uncertain"
    unknown = from_live(replace(own, comm_overhead=0.03, comm_overhead_error=0.7)).text
    assert unknown.startswith("Too unsteady to tell ")
    assert from_live(own, asleep=0.7).text.startswith("Training mostly waits for something else: for 70 %")
    known = replace(own, compute_s=0.9 * 0.1)
    assert from_live(known).text.startswith("Computation takes the time: ")


def test_of_a_loop_that_runs_no_step_is_claimed_that_was_not_measured() -> None:
    found = from_live(Metrics(step_s=0.1, data_s=0.0, comm_overhead=0.0, comm_overhead_error=0.01))
    assert found.communication is not None
    assert found.communication.text == "Communication takes at most 1 % of a step of your own loop."
    assert found.data is None, "it reads no loader"
    assert found.notes == (RUNS, READS_NONE)
    fast = from_live(Metrics(step_s=0.1, data_s=0.0, data_error=0.01))
    assert fast.data is not None, "a diagnosis has found no waiting for its loader"
    assert fast.data.text == "Waiting for data takes at most 1 % of a step of your own loop."
    assert fast.notes == (RUNS,)


def test_what_is_none_of_the_model_is_said() -> None:
    found = conclude([timings(r, 20, 15, loop_s=0.05) for r in (0, 1)])
    (note,) = found.notes
    assert note.startswith("A step of your own loop took 50 ms: 30 ms of it is neither the model, nor")
    assert found.text == "Your loop's own code takes the time: 60 % ± 1 of a step."
    assert found.communication is not None
    assert found.communication.share == pytest.approx(0.1), "5 of 50 ms"
    fast = conclude([timings(r, 20, 15, loop_s=0.022) for r in (0, 1)])
    assert (fast.notes, fast.own) == ((), 0.0)
    # advice says the same first, before what would shorten less
    bound = conclude([timings(r, 20, 8, loop_s=0.05) for r in (0, 1)])
    samples = [RankSample(rank=r, synced=True) for r in range(2)]
    advised = advise(with_diagnosis(measured(ESTIMATED, samples, 2), bound))
    assert [a.id for a in advised] == ["own_code", "accumulate"]
    assert advised[0].change == "Shorten your loop's own code: it takes 60 % ± 1 of a step"


def test_all_sentences_are_of_one_step() -> None:
    """As found: "a whole step of 54.2 ms" beside "a step of your own loop took 55.9 ms"."""
    of = replace(timings(0, 6.2, 5, loop_s=0.0559), beside_s=0.048, real=(0.0062,) * 5)
    found = conclude([of, of])
    assert found.communication is not None
    assert found.data is not None
    said = " ".join([found.text, found.communication.text, found.data.text, *found.notes])
    assert set(re.findall(r"step of ([\d.]+ ms)|loop took ([\d.]+ ms)", said)) == {
        ("55.9 ms", ""), ("", "55.9 ms"),
    }  # fmt: skip
    assert found.own == pytest.approx(48 / 55.9)
    assert found.own_error == pytest.approx(1 - 54.2 / 55.9, abs=0.001), "1.7 ms are in any of its parts"
    assert found.text == "Your loop's own code takes the time: 86 % ± 3 of a step."


def test_the_step_is_the_one_that_all_views_show() -> None:
    """As found: "a whole step of 139 ms" beside "Last: 144 ms" in the panel."""
    of = [timings(r, 80, 60, loop_s=0.139) for r in (0, 1)]
    found = conclude(of, shown_s=0.144)
    assert found.communication is not None
    assert " of a whole step of 144 ms: " in found.communication.text
    assert found.notes[0].startswith("A step of your own loop took 144 ms: 64 ms of it ")
    assert (found.own, found.own_code) == (pytest.approx(64 / 144), pytest.approx(64 / 144))
    other = conclude(of, shown_s=0.3).communication
    assert other is not None
    assert " of a whole step of 139 ms: " in other.text, "those were other steps"


def test_own_code_that_is_not_the_conclusion_is_known_to_views_all_the_same() -> None:
    found = conclude([timings(r, 20, 12, loop_s=0.028) for r in (0, 1)])
    assert (found.own, found.own_code) == (0.0, pytest.approx(8 / 28))
    assert found.text.startswith("Communication-bound: ")


def test_views_have_the_share_of_own_code_that_was_measured() -> None:
    """As found: "other 94 %" in the panel beside "own code takes 88 % of a step"."""
    of = Metrics(step_s=0.1, data_s=0.001, compute_s=0.03, optimizer_s=0.01, comm_overhead=0.019)
    found = replace(MEASURED, communication=Check(0.02, 0.01, 0, 0, ""), data=None, own_code=0.88)
    shown = with_measured(of, found)
    parts = (shown.compute_s, shown.optimizer_s, shown.data_s, 0.1 * (shown.comm_overhead or 0.0))
    assert sum(part or 0.0 for part in parts) == pytest.approx(0.012)
    assert (shown.compute_s or 0.0) == pytest.approx(3 * (shown.optimizer_s or 0.0)), "as they were estimated"
    samples = [
        RankSample(rank=r, step_s=0.1, exposed_s=0.002, exposed_error_s=0.0, data_s=0.0, compute_s=c)
        for r, c in enumerate((0.004, 0.008))
    ]
    splits = splits_with_measured(communication.split(samples, 2, False), samples, found)
    assert fmean(split.own_code or 0.0 for split in splits.values()) == pytest.approx(0.88)


def busy(beside_s: float | None) -> Diagnosis:
    """Of a loop whose steps took twice as long as when they were repeated."""
    of = replace(timings(0, 2.06, 1.25, 7.9, loop_s=0.0161), beside_s=beside_s)
    return conclude([of, replace(of, beside_s=0.0 if beside_s else beside_s)])


def test_a_loop_that_other_work_has_slowed_has_no_code_of_its_own() -> None:
    """As in the tuning notebook on a busy machine: the parts of its own steps add up to 100 %."""
    found = busy(0.0002)
    assert found.own == 0.0
    assert "own code" not in found.text
    assert found.notes == (
        "A step of your own loop took 16.1 ms: its model, averaging, optimizer and loader took 8.2 ms longer "
        "than when they were repeated.",
    )
    # it was in any of the parts, so that no share is known well; none is of another step
    assert found.text == "Input-bound: 74 % of a step (36 to 100 %) waits for data."
    assert found.data is not None
    assert found.data.text.endswith(": 7.9 ms with the loader, 2.06 ms without it.")
    assert "16.1" not in found.data.text
    samples = [RankSample(rank=r, synced=True) for r in range(2)]
    of = with_diagnosis(measured(replace(ESTIMATED, data_s=0.0058, step_s=0.0161), samples, 2), found)
    assert of.own == 0.0
    assert all(a.id != "own_code" for a in advise(of))


def test_a_loader_that_could_not_be_repeated_is_told_by_what_the_loop_has_waited_for_it() -> None:
    """As found by hand: the panel said 70 % of a step, and the diagnosis blamed a slower loader."""
    gone = "The DataLoader that training read no longer exists: keep it in a variable to measure it."
    of = replace(timings(0, 16, 14, loop_s=0.102), beside_s=0.0005, data_s=0.07, skipped={"data": gone})
    found = conclude([of, of])
    assert found.text == "Input-bound: 69 % ± 1 of a step waits for data."
    assert found.data is not None
    assert found.data.in_loop
    assert found.data.text == "Waiting for data takes 69 % ± 1 of a step of your own loop: 70 ms of 102 ms."
    assert found.notes == (gone,)
    seen = conclude([of, of], waits=0.75).data
    assert seen is not None
    assert seen.share == pytest.approx(0.75), "the panel's, which is of the same loop's last steps"
    # the monitor's own time stays in the metrics, as no other one was measured
    metrics = with_measured(replace(ESTIMATED, data_s=0.07, step_s=0.102), found)
    assert (metrics.data_s, metrics.data_error) == (0.07, None)
    # what it has not waited for is the parts', of which the loader was none
    slow = conclude([replace(of, data_s=0.01)] * 2)
    assert slow.notes[1] == (
        "A step of your own loop took 102 ms: its model, averaging and optimizer took 76 ms longer than when "
        "they were repeated."
    )
    assert slow.data is not None
    assert slow.data.text.endswith(" of a step of your own loop: 10 ms of 102 ms.")
    # one that was repeated is told by that
    read = conclude([replace(of, real=(0.03,) * 5)] * 2)
    assert read.data is not None
    assert not read.data.in_loop


def test_own_code_is_what_the_loop_has_spent_on_it_on_any_rank() -> None:
    for beside_s in (None, 0.0082, 0.009):
        found = busy(beside_s)
        assert found.own == pytest.approx(8.2 / 16.1, abs=0.001)
        assert found.text.startswith("Your loop's own code takes the time: 51 % ± 1 of a step.")
        assert all("when they were repeated" not in note for note in found.notes)
        assert found.data is not None
        assert found.data.text.endswith(
            "of a step of 16.1 ms: 7.9 ms with the loader, 2.06 ms without it, "
            "both without your loop's own code."
        )
    # some is own code, and the machine was busy besides
    some = busy(0.003)
    assert [note.split(":")[1] for note in some.notes] == [
        " 3 ms ± 3.52 ms of it is neither the model, nor averaging, nor the loader.",
        " its model, averaging, optimizer and loader took 5.2 ms longer than when they were repeated.",
    ]


def test_a_small_share_of_own_code_is_not_what_takes_the_time() -> None:
    few = conclude([timings(r, 20, 19.9, loop_s=0.0264) for r in (0, 1)])
    assert few.own == 0.0
    assert few.text == "Computation takes the time: neither communication nor data is worth a change."
    # more than communication and data, but less than computation
    some = conclude([timings(r, 20, 19.9, loop_s=0.0333) for r in (0, 1)])
    assert some.text == "Your loop's own code takes 40 % ± 1 of a step."
    assert some.own == pytest.approx(0.4, abs=0.01)


SLOW = Verdict(
    id="slow-1", kind="slow", code="slow", text="", values={"over_s": 0.03}, ranks=(1,), peers=(0,),
    hint="30 ms a step longer than rank 0: its own code sleeps.",
)  # fmt: skip


def test_a_rank_that_was_slow_in_the_loop_is_named() -> None:
    found = conclude([timings(r, 20, 15, loop_s=0.05) for r in (0, 1)], SLOW)
    assert found.text == (
        "Rank 1 is slow: rank 0 waits for it, 60 % of a step. "
        "It takes 30 ms a step longer than rank 0: its own code sleeps."
    ), "in one paragraph, with its subject"
    assert found.own == 0.0
    assert SLOW.hint not in found.notes
    other = conclude(
        [timings(r, 20, 2, loop_s=0.021) for r in (0, 1)], replace(SLOW, values={"over_s": 0.01})
    )
    assert other.text == "Communication-bound: 90 % ± 4 of a step.", "which takes more than the slow rank"
    assert (found.slow_rank, other.slow_rank) == (1, 1), "both leave out waiting for it"
    # both are measurements of the same wait, of which the one or the other is longer by chance
    loader = replace(SLOW, values={"over_s": 0.078, "cause": ", in every step: data"})
    waits = conclude([timings(r, 20, 19, 100) for r in (0, 1)], loader)
    assert waits.text.startswith("Rank 1 is slow: rank 0 waits for it, 78 % of a step. ")
    rather = conclude(
        [timings(r, 20, 19, 100) for r in (0, 1)], replace(loader, values=loader.values | {"over_s": 0.02})
    )
    assert rather.text == "Input-bound: 80 % ± 1 of a step waits for data.", "all ranks do"
    said = replace(SLOW, values={"over_s": 0.03, "late": 0.58})
    for longer in (0.05, 0.055):  # of the steps in which it was 30 ms later, whatever a diagnosis measures
        same = conclude([timings(r, 20, 15, loop_s=longer) for r in (0, 1)], said)
        assert same.text.startswith("Rank 1 is slow: rank 0 waits for it, 58 % of a step. ")
    of = replace(measured(Metrics(step_s=0.06, data_s=0.0), (), 2), slow=said)
    assert why_none(of, "").startswith("Rank 1 is slow: rank 0 waits for it, 58 % of a step. ")
    live = from_live(Metrics(step_s=0.1, comm_overhead=0.3, verdicts=(replace(SLOW, peers=(0, 2)),)))
    assert live.text == f"Rank 1 is slow: the others wait for it, 30 % of a step. It takes {SLOW.hint}"
    assert live.notes == (RUNS,)
    compiles = replace(SLOW, code="behind", values={"count": 1})
    assert from_live(Metrics(step_s=0.1, comm_overhead=0.3, verdicts=(compiles,))).text.startswith("Comm")


def test_what_does_not_show_is_said_without_times_that_contradict_it() -> None:
    found = conclude([timings(r, 20, 21, 19) for r in (0, 1)])
    assert found.communication is not None
    assert found.data is not None
    assert (
        found.communication.text
        == "Communication takes at most 1 % of a step: a step without it is no faster."
    )
    assert found.data.text == (
        "Waiting for data takes at most 1 % of a step: a step without the loader is no faster."
    )


def test_what_advice_does_not_find_worth_a_change_is_no_verdict_either() -> None:
    """Diagnosis and panel say the same: communication of 19 % is not what the time goes to."""
    text = "Computation takes the time: neither communication nor data is worth a change."
    assert from_live(Metrics(step_s=0.1, comm_overhead=0.19, comm_overhead_error=0.1)).text == text
    found = from_live(Metrics(step_s=0.1, comm_overhead=0.21, comm_overhead_error=0.1))
    assert found.text == "Communication-bound: 21 % ± 10 of a step."


def test_a_share_within_its_error_is_no_verdict() -> None:
    found = from_live(Metrics(step_s=0.1, comm_overhead=0.12, comm_overhead_error=0.15))
    assert found.text == (
        "Too unsteady to tell how much of a step communication takes. "
        "Diagnose again when the machine is less busy."
    )


@pytest.mark.parametrize(("share", "error"), [(0.17, 0.83), (0.02, 0.98), (0.78, 0.63)])
def test_a_share_that_may_be_anything_is_no_verdict_and_said_to_be_unsteady(
    share: float, error: float
) -> None:
    found = from_live(Metrics(step_s=0.1, comm_overhead=share, comm_overhead_error=error))
    assert found.text.startswith("Too unsteady to tell how much of a step communication takes. ")
    assert found.communication is not None
    assert found.communication.text == "Communication: too unsteady to tell."
    certain = from_live(Metrics(step_s=0.1, comm_overhead=share, comm_overhead_error=error, data_s=0.9 * 0.1))
    assert certain.text == "Input-bound: 90 % ± 1 of a step waits for data."
    sure = from_live(Metrics(step_s=0.1, comm_overhead=0.9, comm_overhead_error=0.31))
    assert sure.text == "Communication-bound: 90 % of a step (59 to 100 %).", (
        "the least that it may be is much"
    )


def test_what_was_measured_counts_also_where_nothing_was_estimated() -> None:
    found = Diagnosis("", "replayed", Check(0.5, 0.03, 0.1, 0.05, ""), None)
    for estimate in (0.0, None):
        of = Metrics(step_s=0.1, comm_overhead=estimate, transfer_s=estimate, wait_s=estimate)
        shown = with_measured(of, found)
        assert shown.measured
        assert shown.comm_overhead == 0.5
        assert (shown.transfer_s, shown.wait_s) == (None, None), "how much of it is waiting is not known"
    assert with_measured(Metrics(), found) == Metrics(), "nothing trains"


LOOP = "for batch in loader: ..."
ESTIMATED = Metrics(
    samples_per_s=1000.0, step_s=0.1, compute_s=0.03, transfer_s=0.05, wait_s=0.013,
    comm_overhead=0.63, comm_overhead_error=0.13,
)  # fmt: skip
MEASURED = Diagnosis(
    "Computation takes the time.",
    "replayed",
    Check(0.09, 0.15, 0.1, 0.091, ""),
    Check(0.02, 0.01, 0.1, 0.098, ""),
)


def test_what_was_measured_wins_over_the_estimate_and_no_advice_promises_what_it_denies() -> None:
    samples = [RankSample(rank=r, synced=True) for r in range(2)]
    assert advise(measured(ESTIMATED, samples, 2)), "the estimate alone would advise"
    found = with_measured(ESTIMATED, MEASURED)
    assert (found.comm_overhead, found.comm_overhead_error, found.measured) == (0.09, 0.15, True)
    assert found.transfer_s == pytest.approx(0.05 * 0.09 / 0.63)
    assert found.compute_s == pytest.approx(0.03 + 0.054)
    assert advise(measured(found, samples, 2)) == ()
    assert denies_waiting_for_data(MEASURED, 0.25)
    # nothing was measured: nothing changes
    assert with_measured(ESTIMATED, replace(MEASURED, communication=None)) == ESTIMATED


def test_the_last_metrics_of_a_loop_have_the_parts_of_its_step_as_measured() -> None:
    kept = last_of(replace(ESTIMATED, data_s=0.004, optimizer_s=0.001, asleep_s=0.002))
    assert (kept.data_s, kept.compute_s, kept.optimizer_s, kept.asleep_s) == (0.004, 0.03, 0.001, 0.002)
    assert (kept.transfer_s, kept.wait_s) == (0.05, 0.013)
    shown = last_with_measured(kept, MEASURED)
    assert shown is not None
    assert shown.comm_overhead == 0.09
    assert shown.transfer_s is not None
    assert shown.wait_s is not None
    assert shown.transfer_s + shown.wait_s == pytest.approx(0.09 * 0.1), "they add up to what is shown"
    assert shown.data_s == pytest.approx(0.02 * 0.1)
    assert shown.compute_s == pytest.approx(0.03 + 0.054 + 0.002)


def test_waiting_for_data_that_was_measured_replaces_the_estimate_as_communication_does() -> None:
    """The newcomer's step: "data 51 %" beside the card's "waits for data 88 % of a step"."""
    found = replace(
        MEASURED, communication=Check(0.12, 0.25, 0.1, 0.09, ""), data=Check(0.88, 0.25, 0, 0, "")
    )
    of = replace(ESTIMATED, comm_overhead=0.12, data_s=0.051, compute_s=0.036, optimizer_s=0.001)
    last = last_with_measured(last_of(of), found)
    assert last is not None
    for shown in (with_measured(of, found), last):
        parts = (shown.data_s, shown.compute_s, shown.optimizer_s)
        assert parts == pytest.approx((0.088, 0, 0)), "no part makes a view scale the others down"
    assert with_measured(of, found).data_error == 0.25
    assert with_measured(of, replace(found, data=None)).data_error is None, "the monitor timed it"
    alone = with_measured(of, replace(found, communication=None))
    assert (alone.data_s, alone.measured) == (pytest.approx(0.088), False)
    assert with_measured(of, replace(found, slow_rank=1)) == of


@pytest.mark.parametrize("data", [None, Check(0.3, 0.02, 0, 0, "")])
def test_no_part_of_a_step_is_over_because_another_was_measured_to_take_longer(data: Check | None) -> None:
    """As found: "forward, backward 0 %" after a diagnosis, beside "other 45 %"."""
    of = Metrics(
        step_s=0.1, data_s=0.05 * 0.1, compute_s=0.03, optimizer_s=0.01, transfer_s=0.01, wait_s=0.0,
        comm_overhead=0.1, comm_overhead_error=0.17,
    )  # fmt: skip
    found = replace(MEASURED, communication=Check(0.5, 0.02, 0, 0, ""), data=data)
    shown = with_measured(of, found)
    assert shown.compute_s is not None
    assert shown.optimizer_s is not None
    rest = 0.1 * (0.5 - (0.05 if data is None else 0.3))
    assert shown.compute_s == pytest.approx(rest * 0.03 / 0.085), (
        "each of the rest has become as much shorter"
    )
    assert shown.optimizer_s == pytest.approx(rest * 0.01 / 0.085)
    samples = [
        RankSample(
            rank=r, step_s=0.1, exposed_s=0.01, exposed_error_s=0.001, data_s=0.005, compute_s=0.03,
            optimizer_s=0.01,
        )
        for r in range(2)
    ]  # fmt: skip
    splits = splits_with_measured(communication.split(samples, 2, False), samples, found)
    for sample in samples:
        rank = with_metrics(
            Rank(sample.rank, "a", sample.rank, "cpu", 1, "running"), sample, splits[sample.rank]
        )
        assert (rank.compute_s, rank.optimizer_s) == pytest.approx((shown.compute_s, shown.optimizer_s))


def test_ranks_have_their_own_waiting_for_data_scaled_to_what_was_measured() -> None:
    samples = [
        RankSample(rank=r, step_s=0.1, exposed_s=0.01, exposed_error_s=0.001, data_s=d, compute_s=0.05)
        for r, d in enumerate((0.03, 0.05))
    ]
    found = replace(MEASURED, communication=Check(0.3, 0.02, 0, 0, ""), data=Check(0.6, 0.02, 0, 0, ""))
    splits = splits_with_measured(communication.split(samples, 2, False), samples, found)
    assert [s.data_s for s in splits.values()] == pytest.approx([0.045, 0.075])
    ranks = [with_metrics(Rank(s.rank, "a", s.rank, "cpu", 1, "running"), s, splits[s.rank]) for s in samples]
    for rank in ranks:
        assert rank.data_s == splits[rank.rank].data_s
        assert rank.comm_overhead is not None
        assert (rank.data_s or 0) + (rank.compute_s or 0) <= 0.1 * (1 - rank.comm_overhead) + 1e-9
    unsteady = replace(found, data=Check(0.44, 0.44, 0, 0, ""))
    kept = splits_with_measured(communication.split(samples, 2, False), samples, unsteady)
    assert all(split.data_s is None for split in kept.values())


def test_measured_communication_counts_also_where_waiting_for_data_was_too_unsteady_to_measure() -> None:
    """As found: a diagnosis of 63 % ± 13, and beside it "too unsteady to tell"."""
    found = replace(MEASURED, communication=Check(0.18, 0.04, 0, 0, ""), data=Check(0.44, 0.44, 0, 0, ""))
    of = replace(ESTIMATED, comm_overhead=0.2, comm_overhead_error=0.25, data_s=0.051)
    shown = with_measured(of, found)
    assert (shown.data_s, shown.comm_overhead, shown.comm_overhead_error) == (0.051, 0.18, 0.04)
    steady = with_measured(of, replace(found, data=Check(0.5, 0.02, 0, 0, "")))
    assert (steady.data_s, steady.comm_overhead_error) == (pytest.approx(0.05), 0.04)


def trained(loops: Loops, code: str, at: float) -> None:
    loops.begun(code, (0,), at)
    loops.sampled({0: int(at)}, at + 1)
    loops.sampled({0: int(at) + 5}, at + 2)


def test_a_measurement_is_of_the_loop_that_trained_last_and_holds_while_that_trains() -> None:
    loops = Loops()
    trained(loops, LOOP, 10)
    assert loops.trains
    loops.begun("", (0,), 20)  # the diagnosis itself trains nothing of the user's
    loops.sampled({0: 100}, 22)
    loops.diagnosed(MEASURED, 2, 0.1)
    assert loops.measured(2) == MEASURED
    loops.begun("print(model)", (0,), 30)
    assert not loops.trains
    assert loops.measured(2) == MEASURED
    trained(loops, LOOP, 200)
    assert loops.measured(2) == MEASURED
    assert loops.measured(4) is None, "another number of ranks"
    trained(loops, LOOP + " # larger", 300)
    loops.steps_take(0.3)
    assert loops.measured(2) is None
    trained(loops, LOOP, 400)
    loops.steps_take(0.12)
    assert loops.measured(2) == MEASURED
    loops.steps_take(0.3)
    assert loops.measured(2) is None, "the same code, now with another model or loader"


def test_what_the_cell_before_still_reports_is_no_step_of_this_one() -> None:
    loops = Loops()
    loops.begun(LOOP, (0,), 10)
    loops.sampled({0: 90}, 10.2)
    loops.sampled({0: 95}, 10.4)
    loops.sampled({0: 95}, 11)
    loops.sampled({0: 95}, 12)
    assert not loops.trains
    loops.sampled({0: 96}, 13)
    assert loops.trains


def test_a_loop_that_ends_before_a_second_sample_has_trained_also_if_a_diagnosis_comes_first() -> None:
    loops = Loops()
    loops.sampled({0: 90, 1: 90}, 9, idle={0, 1})
    loops.begun(LOOP, (0, 1), 10)
    loops.begun("", (0, 1), 10.1)
    loops.sampled({0: 95, 1: 95}, 10.2)
    assert (loops.trained, loops.trains, loops.code) == (True, False, LOOP)
    loops.begun("print(model)", (0, 1), 12)
    loops.sampled({0: 95, 1: 95}, 13, idle={0, 1})
    assert not loops.trained


def test_a_loop_that_no_sample_saw_has_trained_by_what_its_ranks_reply() -> None:
    """As with *Run All*: the next cell begins before the agents have sent anything."""
    loops = Loops()
    loops.begun(LOOP, (0,), 10, Where("a.ipynb", "[3]"))
    loops.replied(0, 40)
    loops.begun("other", (0,), 10.1, Where("b.ipynb", "[2]"))
    loops.sampled({0: 40}, 10.2)
    assert (loops.trained, loops.code, loops.where) == (False, LOOP, Where("a.ipynb", "[3]"))
    loops.replied(0, 43)
    assert (loops.trained, loops.code, loops.where) == (True, "other", Where("b.ipynb", "[2]"))
    assert loops.ahead_of([RankSample(rank=0, step=40)]), "the sample is of the loop before"
    assert not loops.ahead_of([RankSample(rank=0, step=43)])
    loops.begun("print(1)", (0,), 11)
    loops.replied(0, 43)
    assert not loops.trained
    loops.forget(0)  # its next process counts from 0
    loops.begun(LOOP, (0,), 12)
    loops.replied(0, 2)
    assert loops.trained


A, B = Where("a.ipynb", "[3]"), Where("b.ipynb", "[2]")


@pytest.mark.parametrize("known", [False, True], ids=["late", "known"])
def test_of_cells_on_disjoint_ranks_the_one_is_named_whose_ranks_take_steps(known: bool) -> None:
    """As found: the cell that began last was said to train, whatever its ranks did."""
    loops = Loops()
    if known:
        loops.sampled(dict.fromkeys(range(4), 5), 9, idle=range(4))
    loops.begun(LOOP, (0, 1), 10, A)
    loops.begun("print(1)", (2, 3), 10.1, B)
    loops.sampled({0: 5, 1: 5, 2: 5, 3: 5}, 11)
    assert not loops.trained
    loops.sampled({0: 8, 1: 8, 2: 5, 3: 5}, 12)
    assert (loops.trains, loops.code, loops.where) == (True, LOOP, A)
    assert loops.moves(0.1, 16.5)
    for at in (13, 14, 15, 16, 17, 18):
        loops.sampled({2: at, 3: at}, at)
    assert loops.where == A, "of two that train, the first goes on to be named"
    assert not loops.moves(0.1, 18), "the steps of the other are not its own"
    for rank in (0, 1):
        loops.replied(rank, 9)
    assert (loops.trained, loops.trains) == (True, False)
    loops.sampled({0: 9, 1: 9, 2: 19, 3: 19}, 19)
    assert (loops.trains, loops.where) == (True, B)


def test_a_loop_goes_on_beside_cells_of_other_ranks() -> None:
    loops = Loops()
    loops.begun(LOOP, (0, 1), 10, A)
    loops.sampled({0: 5, 1: 5}, 11)
    loops.sampled({0: 6, 1: 6}, 12)
    loops.begun("print(1)", (2,), 13, B)
    assert (loops.trains, loops.where) == (True, A)
    loops.begun("", (3,), 13)  # a view's call
    assert loops.trains
    loops.replied(2, 0)
    loops.replied(3, 0)
    assert (loops.trains, loops.where) == (True, A)
    loops.replied(0, 7)
    loops.begun("print(1)", (0,), 14, B)
    assert loops.trains, "on rank 1"
    loops.replied(1, 7)
    assert not loops.trains
    loops.begun("", (0, 1, 2, 3), 15)
    assert (loops.trained, loops.measures) == (True, True)
    loops.begun("print(1)", (0, 1), 16, B)
    assert not loops.trained


def test_ranks_are_split_as_their_mean_was_measured() -> None:
    splits = {r: communication.Split(0.6 + r / 10, 0.1, 0.05, r / 100) for r in (0, 1)}
    found = communication.with_measured(splits, 0.13, 0.02)
    assert [x.comm_overhead for x in found.values()] == pytest.approx([0.12, 0.14])
    assert found[1].wait_s == pytest.approx(0.002)


def test_communication_that_was_measured_leaves_room_for_the_data_of_these_steps() -> None:
    of = replace(ESTIMATED, step_s=0.1, data_s=0.07)
    assert MEASURED.communication is not None
    measured = replace(MEASURED, communication=replace(MEASURED.communication, share=0.6))
    assert with_measured(of, replace(measured, data=None)).comm_overhead == pytest.approx(0.3)
    shown = with_measured(of, measured)
    assert (shown.comm_overhead, shown.data_s) == (0.6, pytest.approx(0.002)), "both as measured"


def test_both_shares_are_parts_of_one_step_and_the_less_exact_one_yields() -> None:
    """Cycles so uneven that the medians make averaging 73 % of a step, and its loader 80 %."""
    averaged, loaded = (0.10, 0.10, 0.10, 0.01, 0.01), (0.11, 0.11, 0.5, 0.11, 0.5)
    seen = StepTimings(averaged, (0.02,) * 5, loaded)
    found = conclude([seen, seen])
    assert found.communication is not None
    assert found.data is not None
    both = found.communication.share + found.data.share
    assert 0.85 < both < 0.95, "computing took 18 % of a step by itself: views would call it 0 %"
    assert max(found.communication.error, found.data.error) >= 0.5, "by as much as it was cut"


def test_a_check_says_whether_its_share_is_vague() -> None:
    """Beside "too unsteady to tell", a notebook wrote 36 %."""
    noisy = StepTimings((0.1,) * 5, (), (0.10, 0.30, 0.11, 0.35, 0.15))
    for timings in (noisy, replace(noisy, real=(0.2,) * 5)):
        data = conclude([timings, timings]).data
        assert data is not None
        assert data.vague == (data.text == "Waiting for data: too unsteady to tell.")
    assert conclude([noisy, noisy]).data.vague  # type: ignore[union-attr]


def test_a_share_and_the_times_beside_it_say_the_same() -> None:
    """Of noisy cycles the median of the shares is not the share of the medians."""
    noisy = StepTimings((0.100, 0.080, 0.120), (0.030, 0.040, 0.035))
    found = conclude([noisy, noisy]).communication
    assert found is not None
    assert found.share == pytest.approx(0.7)
    assert found.without_s == pytest.approx(0.3 * found.with_s)


def test_collectives_that_the_loop_calls_itself_are_communication_and_no_code_of_its_own() -> None:
    """As found: "your loop's own code takes 53 %" of a step that spent 69 % in the user's all_reduce."""
    of = replace(timings(0, 20, 15, loop_s=0.1), beside_s=0.08, called_s=0.075)
    found = conclude([of, of])
    assert (found.own, found.own_code) == (0.0, 0.0)
    assert found.communication is not None
    assert found.called == pytest.approx(0.75)
    assert found.communication.share == pytest.approx(0.8), "5 ms averaging, and 75 ms"
    assert found.communication.text == (
        "Communication takes 80 % ± 6 of a whole step of 100 ms: 5 ms averaging gradients, and 75 ms "
        "collectives that your loop calls itself, on average over the ranks."
    )
    assert found.text == "Communication-bound: 80 % ± 6 of a step."
    samples = [RankSample(rank=r, synced=True) for r in range(2)]
    estimated = replace(ESTIMATED, step_s=0.1, transfer_s=0.07, comm_overhead=0.7)
    assert with_measured(estimated, found).comm_overhead == found.communication.share
    advised = with_diagnosis(measured(estimated, samples, 2), found)
    assert advised.transfer_s == pytest.approx(0.005), "advice changes the averaging of gradients only"
    assert why_none(advised, "").endswith(
        "most of it collectives that your loop calls itself: call fewer, or smaller ones."
    )
    both = conclude([replace(of, beside_s=0.08, called_s=0.03)] * 2)
    assert (both.own, both.called) == (pytest.approx(0.5), pytest.approx(0.3))
    few = conclude([replace(of, called_s=0.004)] * 2)
    assert few.called == 0.0
    assert few.own > 0.7


def test_communication_with_waiting_for_a_slow_rank_is_one_sum_on_all_screens() -> None:
    """As found: 11 % ± 11 in the diagnosis, and "Last: 53 % ± 19" in the panel."""
    of = [timings(r, 40, 24, loop_s=0.1) for r in (0, 1)]
    found = conclude(of, SLOW, shown_s=0.12, late=0.3)
    assert found.text.startswith("Rank 1 is slow: ")
    assert found.communication is not None
    assert found.communication.share == pytest.approx(16 / 120 + 0.3)
    assert found.communication.text == (
        "Communication takes 43 % ± 6 of a whole step of 120 ms: 16 ms averaging gradients, and 36 ms "
        "waiting for rank 1, on average over the ranks."
    )
    last = replace(last_of(ESTIMATED), step_s=0.12, comm_overhead=0.6, transfer_s=0.036, wait_s=0.036)
    shown = last_with_measured(last, found)
    assert shown is not None
    assert shown.comm_overhead == pytest.approx(found.communication.share)
    assert (shown.transfer_s, shown.wait_s) == (pytest.approx(0.016), pytest.approx(0.036))
    seen = with_measured(replace(ESTIMATED, comm_overhead=0.6), of_running(found))
    assert seen.comm_overhead == 0.6, "steps that run show how long they wait"
    measured_once = with_diagnosis(measured(replace(ESTIMATED, step_s=0.12), (), 2), found)
    assert waiting_share(measured_once) == pytest.approx(0.3), "also in another diagnosis"
    assert found.notes == (), "the time by which the rank is later has no other figure"
    unknown = conclude(of, SLOW).communication
    assert unknown is not None
    assert "waiting" not in unknown.text


def test_the_time_of_own_code_has_its_error() -> None:
    """As found: 155, 104 and 56 ms of the same training, each as if it were exact."""
    rough = StepTimings((0.02, 0.05, 0.03, 0.06, 0.025), (0.015,) * 5, (), 0.08)
    found = conclude([rough, rough])
    assert re.match(
        r"A step of your own loop took 80 ms: 50 ms ± [\d.]+ ms of it is neither ", found.notes[0]
    )
