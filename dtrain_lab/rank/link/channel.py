"""A rank's connection to its head: a stream on one machine, ZeroMQ to another node."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from functools import partial
from typing import Any

import zmq

from dtrain_lab.machine.net import listener
from dtrain_lab.machine.net.curve import introduce
from dtrain_lab.machine.net.streams import Stream
from dtrain_lab.machine.net.zmq_drain import Dealer
from dtrain_lab.rank.link.order_reading import SocketHandoff
from dtrain_lab.rank.link.orders import Orders
from dtrain_lab.wire.links import RankSpec


def near(
    spec: RankSpec,
    orders: Orders,
    attend: Callable[[SocketHandoff, Callable[[], object]], None],
    lost: Callable[[], None],
) -> Stream | None:
    """Connect to a head on this machine; called in the loop of the IOPub thread.

    Args:
        spec: Settings of the rank.
        orders: Take what arrives.
        attend: Makes the main thread read while it waits.
        lost: Called when the head has closed its end.

    Returns:
        The connection; None if the head has no stream here.
    """
    connected = listener.connect(spec.link)
    if connected is None:
        return None
    handoff = SocketHandoff(connected)
    handoff.hear_signals()
    stream = Stream(connected, orders.read_by_iopub, lost, watched=handoff.for_iopub)
    attend(handoff, partial(stream.read_beside, orders.read_by_main))
    return stream


def far(spec: RankSpec, orders: Orders, context: zmq.Context[Any]) -> Dealer:
    """Connect to a head on another node; called in the loop of the IOPub thread.

    Args:
        spec: Settings of the rank.
        orders: Take what arrives.
        context: ZeroMQ context.
    """
    dealer = context.socket(zmq.DEALER)
    dealer.linger = 1000
    dealer.sndhwm = dealer.rcvhwm = 0
    if spec.keys is not None:
        dealer.routing_id = f"rank-{spec.rank}-{os.getpid()}".encode()
        introduce(dealer, spec.link, spec.keys)
    dealer.connect(spec.link)
    return Dealer(dealer, orders.read_by_iopub, asyncio.get_running_loop())
