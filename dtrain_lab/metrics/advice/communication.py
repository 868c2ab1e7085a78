"""Advice on communication: averaging gradients less often, or sending fewer bytes. Pure."""

from __future__ import annotations

from math import hypot

from msgspec.structs import replace

from dtrain_lab.metrics.advice.code_change import optimize
from dtrain_lab.metrics.advice.measured import Measured, gain_error
from dtrain_lab.wire.metrics.diagnosis import vague
from dtrain_lab.wire.metrics.thresholds import WORTH_A_CHANGE
from dtrain_lab.wire.metrics.verdicts import Advice

FROM_SHARE = WORTH_A_CHANGE
"""Minimum share of a step that communication must take, beyond its error, to be worth advice."""
TIMES = (2, 4, 8)
"""Factors by which averaging less often is considered."""
LATENCY_S = 0.5e-3
"""Approximate time per bucket that does not depend on its bytes."""
BUCKET = 25 * 2**20
"""Bytes of a bucket."""
CAST_S = 3.0e-9
"""Additional time of a CPU per element in 16 bits: casts, and a sum that gloo does not vectorize."""
CAST_ERROR = 0.6
"""Relative error of `CAST_S`: 2 to 5 ns were measured."""
COPY_S = 0.75e-9
"""Time of `dt.optimize` on a CPU to add one element of a batch's gradients: 0.6 to 0.9 ns were measured."""
COPY_ERROR = 0.4
"""Relative error of `COPY_S`. If there are more threads than cores, `_crowded` gives a factor."""
HALF_BITS = 2


def accumulate(of: Measured) -> Advice | None:
    """Average gradients k times less often.

    A step of k batches takes k·own + transfer instead of k·(own + transfer), so throughput grows by
    1 / (1 − t·(1 − 1/k)), with t the share of transfer, less what `dt.optimize` needs on a CPU to put
    gradients aside; `in_loop` has gain and error without that, of `no_sync` in the loop. Waiting for a slower
    rank is not saved: after k batches it takes k times as long. k is the smallest number after which
    averaging takes at most `FROM_SHARE` of a step.
    """
    share = _transfer(of)
    if share is None or of.step_s is None or of.repeats:
        return None
    left = {k: share / k / (1 - share * (1 - 1 / k)) for k in TIMES}
    times = next((k for k in TIMES if left[k] <= FROM_SHARE + 1e-9), TIMES[-1])
    saved = 1 - 1 / times
    copies = unsure = 0.0
    if not of.gpu and of.gradient_bytes is not None and of.gradient_item:
        longer, doubt = _crowded(of)
        copies = COPY_S * longer * of.gradient_bytes / of.gradient_item / of.step_s
        unsure = copies * hypot(COPY_ERROR, doubt)
    gain, in_loop = 1 / (1 - share * saved + copies), 1 / (1 - share * saved)
    every = of.batches * times
    advice = Advice(
        id="accumulate",
        change=f"Accumulate {every} batches" + (f" instead of {of.batches}" if of.batches > 1 else ""),
        gain=gain,
        gain_error=gain_error(gain, hypot(of.error * saved, unsure)),
        cost="",
        diff="",
        values={
            "variant": every,
            "every": every,
            "before": of.batches,
            "times": times,
            "root": f"{times**0.5:.2g}",
            "code": optimize(gradient_accumulation_steps=every),
            "in_loop": [in_loop, gain_error(in_loop, of.error * saved)],
            **({"stream": True} if of.stream else {}),
        },
    )
    return with_batch(advice, of.global_batch)


def with_batch(advice: Advice, before: int | None) -> Advice:
    """Return advice to accumulate batches with the effective batch that it makes; other advice as it is.

    Args:
        advice: The advice.
        before: Samples of a step of all ranks without it; None if unknown.
    """
    if advice.id != "accumulate":
        return advice
    times, root = advice.values["times"], advice.values["root"]
    batch = before * times if before else None
    effective = (
        f"The effective batch becomes {batch:,}" if batch else f"The batch becomes {times} times as large"
    )
    others = {name: value for name, value in advice.values.items() if name != "batch"}
    return replace(
        advice,
        cost=f"{effective}: multiply the learning rate by {times} (linear scaling) or by {root} "
        "(square-root scaling).",
        values={**others, "batch": batch} if batch else others,
    )


def compress(of: Measured) -> Advice | None:
    """Send gradients in 16 bits.

    Averaging takes a part that does not depend on the bytes, and one that shrinks with them; on a CPU 16-bit
    elements are slower to sum. What averaging loses beyond what computation hides is saved. Where threads
    want a core each, part of averaging waits for one, which fewer bytes do not shorten: between none of it
    and all but what a thread has for itself.
    """
    share = _transfer(of)
    if share is None or of.step_s is None or of.gradient_bytes is None or not of.gradient_item:
        return None
    if of.hooked is not False or of.gradient_item <= HALF_BITS:
        return None
    exposed = share * of.step_s
    whole = max(exposed, of.averaging_s or exposed)
    fixed = min(whole, LATENCY_S * (1 + of.gradient_bytes // BUCKET))
    longer, crowd_error = _crowded(of)
    casts = 0.0 if of.gpu else CAST_S * longer * of.gradient_bytes / of.gradient_item
    at_most = (whole - fixed) * (1 - HALF_BITS / of.gradient_item)
    faster = at_most if of.gpu else at_most * (1 + 1 / of.crowd) / 2
    saved = min(exposed, faster - casts)
    if saved <= 0:
        return None
    gain = 1 / (1 - saved / of.step_s)
    doubt = hypot(
        of.error,
        hypot(CAST_ERROR, crowd_error) * casts / of.step_s,
        min(exposed, at_most - faster) / of.step_s,
    )
    if of.averaging_s is None:  # computation may hide more of it than is known
        doubt += max(0.0, min(exposed, 2 * faster) - faster) / of.step_s / 2
    return Advice(
        id="bf16",
        change="Send gradients in bf16",
        gain=gain,
        gain_error=gain_error(gain, doubt),
        cost=f"Each gradient takes {HALF_BITS} bytes instead of {of.gradient_item} and is rounded by up to "
        "0.4 %.",
        diff="",
        values={"item": of.gradient_item, "code": optimize(gradient_compression="bf16")},
    )


def single(of: Measured) -> Advice | None:
    """Train in float32 where gradients have 8 bytes: at least their transfer takes half."""
    share = _transfer(of)
    if share is None or of.gradient_item != 8:
        return None
    gain = 1 / (1 - share / 2)
    return Advice(
        id="float32",
        change="Train in float32 instead of float64",
        gain=gain,
        gain_error=gain_error(gain, of.error / 2),
        cost="Numbers keep 7 digits instead of 16. Computation also becomes faster, which the estimate "
        "leaves out.",
        diff="",
        values={"code": "model = model.float()  # before DDP wraps it, and inputs as float32\n"},
    )


def is_uncertain(of: Measured) -> bool:
    """Whether it is too uncertain that communication takes any time, or a diagnosis says that it can't tell.

    Args:
        of: Metrics of the loop, with a share of communication.
    """
    assert of.share is not None
    return of.share <= of.error or (of.diagnosed and vague(of.share, of.error))


def _transfer(of: Measured) -> float | None:
    """Transfer's share of a step; None if it is unknown, or not worth advice."""
    if of.ranks < 2 or of.step_s is None or of.transfer_s is None or of.share is None:
        return None
    if of.bound or not of.plain_ddp:
        return None  # only DDP is known to become faster when it sends less
    if of.share < FROM_SHARE or is_uncertain(of):
        return None
    return min(0.99, of.transfer_s / of.step_s)


def _crowded(of: Measured) -> tuple[float, float]:
    """How many times as long work takes on crowded cores, and the error of that, as a share.

    Between once and as often as threads want a core: some of them are the ranks' own, which wait meanwhile.
    """
    return (1 + of.crowd) / 2, (of.crowd - 1) / (of.crowd + 1)
