"""What a page is sent."""

from __future__ import annotations

import asyncio
import sys
import threading
from types import SimpleNamespace

import pytest

pytest.importorskip("viser")

from viser._messages import SetPositionMessage
from viser.infra._async_message_buffer import AsyncMessageBuffer

from robot_dynamics_ros.view.window import in_one_piece

PARTS = [f"/{k}" for k in range(30)]


def test_every_picture_is_sent_whole_while_its_messages_are_taken_out():
    """Two threads that take turns as often as they can: one draws, one takes out what is to be
    sent.
    """
    loop = asyncio.new_event_loop()
    buffer = AsyncMessageBuffer(loop, persistent_messages=False, window_duration_sec=0.0)
    gather = in_one_piece(
        SimpleNamespace(_websock_connection=SimpleNamespace(get_message_buffer=lambda: buffer))
    )
    sent: list[list[float]] = []

    async def send() -> None:
        async for messages in buffer.window_generator(0):
            sent.append([message.position[0] for message in messages])
            await asyncio.sleep(0)

    sender = threading.Thread(target=lambda: loop.run_until_complete(send()), daemon=True)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        sender.start()
        for k in range(1000):
            with gather(), gather():
                for name in PARTS:
                    buffer.push(SetPositionMessage(name, (float(k), 0.0, 0.0)))
            threading.Event().wait(1e-5)
        last = [float(k)] * len(PARTS)
        for _ in range(1000):
            if sent and sent[-1] == last:
                break
            threading.Event().wait(0.01)
    finally:
        sys.setswitchinterval(interval)
        buffer.set_done()
        sender.join(10.0)
    assert sent[-1] == last
    assert len(sent) > 1
    assert all(len(picture) == len(PARTS) and len(set(picture)) == 1 for picture in sent)
