"""A rank's connection to another node: the last messages reach ZeroMQ before the rank leaves."""

from __future__ import annotations

import asyncio
import threading

import zmq

from dtrain_lab.machine.net.zmq_drain import Dealer


async def test_the_thread_of_the_loop_sends_at_once_and_after_what_others_have_said() -> None:
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    router, socket = context.socket(zmq.ROUTER), context.socket(zmq.DEALER)
    port = router.bind_to_random_port("tcp://127.0.0.1")
    socket.connect(f"tcp://127.0.0.1:{port}")
    dealer = Dealer(socket, lambda _: None, asyncio.get_running_loop())
    # the loop does not run between these, as it will not when the rank leaves
    other = threading.Thread(target=dealer.send, args=((b"first",),))
    other.start()
    other.join()
    dealer.send((b"last",))
    assert router.poll(10_000)
    assert router.recv_multipart()[1:] == [b"first"]
    assert router.poll(10_000)
    assert router.recv_multipart()[1:] == [b"last"]
    dealer._drain.close()
    socket.close()
    router.close()
    context.term()
