"""Sentences of a diagnosis: what communication and data take, and the verdict. Pure."""

from __future__ import annotations

from collections.abc import Callable

from dtrain_lab.text.units import UNSTEADY, share_in_range, share_text
from dtrain_lab.wire.metrics.diagnosis import Check, vague
from dtrain_lab.wire.metrics.thresholds import WORTH_A_CHANGE
from dtrain_lab.wire.metrics.verdicts import Verdict

TELLING = 0.10
"""Share of a step below which neither matters, however rough the estimate is."""
OWN = 1 / 3
"""Share of a step from which the loop's own code is the verdict: less may be the machine's unsteadiness."""
READS_NONE = "Training reads no DataLoader, so the time to read data is unknown."
AGAIN = "Diagnose again when the machine is less busy."
Share = tuple[float, float]
"""A share of a step, 0 to 1, and its error."""
Say = Callable[[float, float, float, float, float], str]
"""Returns a sentence, given share, error, and the seconds of a step with it, without it, and as a whole."""


def communication(share: float, error: float, with_s: float, without_s: float, step_s: float) -> str:
    """Sentence on communication; arguments as of `Say`."""
    if vague(share, error):
        return f"Communication: {UNSTEADY}."
    if not share:
        return f"Communication takes {share_text(share, error)} of a step: a step without it is no faster."
    if step_s == with_s:
        return (
            f"Communication takes {share_in_range(share, error, 'a step')}: "
            f"{step_time(with_s)} with it, {step_time(without_s)} without."
        )
    # the steps themselves would seem to contradict those of `data`, which are measured at another time
    takes = share_in_range(share, error, f"a whole step of {step_time(step_s)}")
    return f"Communication takes {takes}: a step without it is {step_time(with_s - without_s)} faster."


def communication_in_loop(share: float, error: float, with_s: float, without_s: float, step_s: float) -> str:
    """As `communication`, where it was estimated while the loop itself ran; arguments as of `Say`."""
    if vague(share, error):
        return f"Communication: {UNSTEADY}."
    if not share:
        return f"Communication takes {share_text(share, error)} of a step of your own loop."
    takes = share_in_range(share, error, "a step of your own loop")
    return f"Communication takes {takes}: {step_time(with_s - without_s)} of {step_time(step_s)}."


def communication_of_loop(
    share: float, error: float, averaging_s: float, other_s: float, step_s: float, slow: int | None
) -> str:
    """As `communication`, where repeated steps leave out a part of it.

    Args:
        share: share of a step, with that part.
        error: its error.
        averaging_s: seconds of a step in which gradients are averaged, as they were repeated.
        other_s: seconds of that part, as a mean over the ranks.
        step_s: seconds of the whole step.
        slow: the rank for which the others wait; None if the part is collectives that the loop calls itself.
    """
    if vague(share, error):
        return f"Communication: {UNSTEADY}."
    other = "collectives that your loop calls itself" if slow is None else f"waiting for rank {slow}"
    return (
        f"Communication takes {share_in_range(share, error, f'a whole step of {step_time(step_s)}')}: "
        f"{step_time(averaging_s)} averaging gradients, and {step_time(other_s)} {other}, on average over "
        "the ranks."
    )


def all_beside_data(share: float, error: float, with_s: float, without_s: float, step_s: float) -> str:
    """As `communication`, where more than waiting for data leaves was measured; arguments as of `Say`."""
    if not share or vague(share, error):
        return communication(share, error, with_s, without_s, step_s)
    takes = share_in_range(share, error, f"a step of {step_time(step_s)}")
    return (
        f"Communication takes {takes}: all of the {step_time(share * step_s)} that computation and waiting "
        "for data leave."
    )


def data(share: float, error: float, with_s: float, without_s: float, step_s: float) -> str:
    """Sentence on waiting for data; arguments as of `Say`."""
    if vague(share, error):
        return f"Waiting for data: {UNSTEADY}."
    if not share:
        same = "a step without the loader is no faster"
        return f"Waiting for data takes {share_text(share, error)} of a step: {same}."
    # the loop's own code is in the step, and in neither of the times that were compared
    whole = step_s == with_s
    of = "a step" if whole else f"a step of {step_time(step_s)}"
    beside = "" if whole else ", both without your loop's own code"
    return (
        f"Waiting for data takes {share_in_range(share, error, of)}: "
        f"{step_time(with_s)} with the loader, {step_time(without_s)} without it{beside}."
    )


def data_in_loop(share: float, error: float, with_s: float, without_s: float, step_s: float) -> str:
    """As `data`, where it was measured while the loop itself ran; arguments as of `Say`."""
    if not share or vague(share, error):
        return f"Waiting for data takes {share_text(share, error)} of a step of your own loop."
    takes = share_in_range(share, error, "a step of your own loop")
    return f"Waiting for data takes {takes}: {step_time(with_s - without_s)} of {step_time(step_s)}."


def all_beside_communication(
    share: float, error: float, with_s: float, without_s: float, step_s: float
) -> str:
    """As `data`, where more than communication leaves was measured; arguments as of `Say`."""
    if not share or vague(share, error):
        return data(share, error, with_s, without_s, step_s)
    takes = share_in_range(share, error, f"a step of {step_time(step_s)}")
    return (
        f"Waiting for data takes {takes}: all of the {step_time(share * step_s)} that computation and "
        "communication leave."
    )


def waits_elsewhere(share: float) -> str:
    """The verdict on a loop that mostly waits for something that is not seen; `share` is that of a step."""
    return (
        f"Training mostly waits for something else: for {share * 100:.0f} % of a step its ranks neither "
        "compute nor communicate, nor wait for the data loader. Look for sleeps, files, and requests over a "
        "network."
    )


def verdict(
    communication: Check | None,
    data: Check | None,
    size: int,
    own_share: float = 0.0,
    own_error: float = 0.0,
    asleep: float = 0.0,
) -> str:
    """Return the verdict on a loop in one sentence.

    Args:
        communication, data: the checks; None if they were not made.
        size: number of ranks.
        own_share: share of a step that the loop's own code takes, outside model and loader.
        own_error: its error.
        asleep: share of a step in which ranks wait for something that is not seen, if that is most of it.
    """
    if communication is None and data is None:
        return "Nothing could be measured."
    shared, fed = (c.share if c is not None else 0.0 for c in (communication, data))
    if own_leads(communication, data, own_share, own_error):
        computed = 1 - own_share - shared - fed
        the_time = " the time:" if own_share > computed else ""
        return f"Your loop's own code takes{the_time} {share_in_range(own_share, own_error, 'a step')}."
    if asleep > max(shared, fed):
        return waits_elsewhere(asleep)
    shares = ((check.share, check.error) if check is not None else None for check in (communication, data))
    if (unsteady := too_unsteady(*shares)) is not None:
        return f"{UNSTEADY.capitalize()} how much of a step {unsteady} takes. {AGAIN}"
    if max(shared, fed) < WORTH_A_CHANGE:
        neither = "neither communication nor data is" if size > 1 else "data is not"
        return f"Computation takes the time: {neither} worth a change."
    if fed > shared:
        return f"Input-bound: {_in_range(data)} waits for data."
    return f"Communication-bound: {_in_range(communication)}."


def _in_range(check: Check | None) -> str:
    assert check is not None
    return share_in_range(check.share, check.error, "a step")


def too_unsteady(communication: Share | None, data: Share | None) -> str | None:
    """Name the share that is too uncertain for a verdict: the larger one, or one that might be the larger.

    Args:
        communication, data: Shares of a step with their errors; None if unknown.

    Returns:
        "communication" or "waiting for data"; None if both are known well enough, or neither is known.
    """
    named = (("communication", communication), ("waiting for data", data))
    measured = [(label, *share) for label, share in named if share is not None]
    label, most, error = max(measured, key=lambda entry: entry[1], default=("", 0.0, 0.0))
    if is_unsteady(most, error):
        return label
    others = (name for name, share, error in measured if vague(share, error))
    return next(others, None) if most < WORTH_A_CHANGE else None


def is_unsteady(share: float, error: float) -> bool:
    """Whether a share is too uncertain to say anything from it.

    Args:
        share: Share of a step, 0 to 1.
        error: Its error.
    """
    return vague(share, error) or TELLING <= share <= error


def own_leads(communication: Check | None, data: Check | None, own_share: float, own_error: float) -> bool:
    """Whether the loop's own code is what to look at first.

    Args:
        communication, data: the checks; None if they were not made.
        own_share: share of a step that the loop's own code takes.
        own_error: its error.

    Returns:
        Whether it takes at least a third of a step, and more than communication and than data.
    """
    measured = max((c.share for c in (communication, data) if c is not None), default=0.0)
    return own_share >= OWN and own_share > measured and not vague(own_share, own_error)


def late_share(slow: Verdict | None, step_s: float | None) -> float:
    """Part of a step by which a slow rank is later than the others, 0 to 1; 0 without such a rank.

    The verdict says it, of the same steps as the time by which the rank is later: a diagnosis measures steps
    of another length, and metrics average them, so their shares of the same time would differ.

    Args:
        slow: Names the rank.
        step_s: Time of a step, seconds, for a verdict without the share; None if unknown.
    """
    if slow is None:
        return 0.0
    if (late := slow.values.get("late")) is not None:
        return float(late)
    return min(1.0, slow.values["over_s"] / step_s) if step_s else 0.0


def slow_leads(slow: Verdict | None, step_s: float | None, communication: float, data: float) -> bool:
    """Whether waiting for a slow rank takes more of a step than communication, and than waiting for data.

    If the rank's data loader makes it slow, the others wait as long as it does: the part of `data` by which
    it is later must be more than the rest, for which all ranks wait.

    Args:
        slow: Names the rank; None without one.
        step_s: Time of a step, seconds; None if unknown.
        communication, data: Shares of a step, 0 to 1, without that waiting.
    """
    late = late_share(slow, step_s)
    return late > communication and (2 * late if by_loader(slow) else late) > data


def by_loader(slow: Verdict | None) -> bool:
    """Whether its data loader makes a slow rank slow."""
    return slow is not None and "data" in str(slow.values.get("cause", ""))


def slow_rank(slow: Verdict, share: float) -> str:
    """The verdict on a loop with a slow rank, and what that rank takes longer for.

    Args:
        slow: Names the rank, and those that wait for it; its hint says how much longer a step takes, and why.
        share: Part of a step by which this rank is later, 0 to 1.
    """
    waits = f"rank {slow.peers[0]} waits" if len(slow.peers) == 1 else "the others wait"
    return (
        f"Rank {slow.ranks[0]} is slow: {waits} for it, {share * 100:.0f} % of a step. It takes {slow.hint}"
    )


def own_time(loop_s: float, own_s: float, error_s: float) -> str:
    """Note on what a loop does beside the parts of its step.

    Args:
        loop_s: time of its step, seconds.
        own_s: time of its own code in that, seconds.
        error_s: the error of that; a small one is not worth a word.
    """
    rough = f" ± {step_time(error_s)}" if error_s >= TELLING * own_s else ""
    return (
        f"A step of your own loop took {step_time(loop_s)}: {step_time(own_s)}{rough} of it is neither the "
        "model, nor averaging, nor the loader."
    )


def slowed(loop_s: float, step_s: float, *, loader: bool) -> str:
    """Note on a loop whose parts took longer than when they were repeated.

    Args:
        loop_s: time of its step, seconds.
        step_s: time of the repeated step, with the loop's own code and its waiting for data, seconds.
        loader: whether the loader was among the parts that were repeated.
    """
    parts = "model, averaging, optimizer and loader" if loader else "model, averaging and optimizer"
    return (
        f"A step of your own loop took {step_time(loop_s)}: its {parts} took "
        f"{step_time(loop_s - step_s)} longer than when they were repeated."
    )


def step_time(seconds: float) -> str:
    """Format the time of a step, as "12.3 ms" or "1.2 s"."""
    return f"{seconds * 1e3:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"
