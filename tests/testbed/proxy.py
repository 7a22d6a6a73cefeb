"""A TCP proxy on loopback that makes a far network out of a near one: it delays, counts, cuts and freezes.

It delays bytes without holding back later ones, so the throughput stays; opening a connection costs a
round trip, as a TCP handshake does. It runs in a thread of its own, so that any test can use it.
SPDX-License-Identifier: GPL-3.0-or-later
"""

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from types import TracebackType

_CHUNK = 1 << 16


class Proxy:
    """A context manager; `port` on 127.0.0.1 leads to host:port.

    delay_ms: one way, so a round trip takes twice that. cut_up, cut_down: after so many bytes of a
    connection from or to the client both sides are closed.
    """

    def __init__(
        self, host: str, port: int, delay_ms: float = 0, cut_up: int | None = None, cut_down: int | None = None
    ) -> None:
        """Nothing listens yet."""
        self._target = (host, port)
        self.delay_ms = delay_ms
        self.cut_up, self.cut_down = cut_up, cut_down
        self.bytes_up = self.bytes_down = self.connections = 0
        self.port = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)
        self._moving: asyncio.Event = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()

    def __enter__(self) -> "Proxy":
        """Listen."""
        self._thread.start()
        self._run(self._listen()).result(5)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close every connection and the port."""
        self._run(self._close()).result(5)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)
        self._loop.close()

    def options(self, alias: str) -> list[str]:
        """Give the ssh options that lead a connection through here; alias: the cluster, whose key is expected."""
        return ["-o", "Hostname=127.0.0.1", "-o", f"Port={self.port}", "-o", f"HostKeyAlias={alias}"]

    def reset(self) -> None:
        """Count from zero."""
        self.bytes_up = self.bytes_down = self.connections = 0

    def freeze(self) -> None:
        """Keep all sockets open and forward nothing."""
        self._loop.call_soon_threadsafe(self._moving.clear)

    def thaw(self) -> None:
        """Forward again, first what has waited."""
        self._loop.call_soon_threadsafe(self._moving.set)

    def _run(self, work: Coroutine[None, None, None]) -> "Future[None]":
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    async def _listen(self) -> None:
        self._moving.set()
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _close(self) -> None:
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        sides = [writer]
        try:
            delay = self.delay_ms / 1000
            opened = self._loop.time() + 2 * delay
            await asyncio.sleep(3 * delay)  # the server sees the client one and a half round trips later
            far_reader, far_writer = await asyncio.open_connection(*self._target)
            sides.append(far_writer)
            ways = [self._forward(reader, far_writer, True, opened), self._forward(far_reader, writer, False, opened)]
            pair = [asyncio.create_task(way) for way in ways]
            await _until_cut(pair)
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            for side in sides:
                side.transport.abort() if task.cancelling() else side.close()
            self._tasks.discard(task)

    async def _forward(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, up: bool, opened: float
    ) -> bool:
        """Move bytes one way until the end (True) or the cut (False): one half reads, one writes when it is time."""
        queue: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()
        reading = asyncio.create_task(self._read(reader, queue, opened))
        left = self.cut_up if up else self.cut_down
        try:
            while True:
                due, data = await queue.get()
                await asyncio.sleep(max(0.0, due - self._loop.time()))
                await self._moving.wait()
                if not data:
                    writer.write_eof()
                    return True
                data = data if left is None else data[:left]
                writer.write(data)
                await writer.drain()
                self._count(len(data), up)
                if left is not None:
                    left -= len(data)
                    if left <= 0:
                        return False
        except OSError:
            return False
        finally:
            reading.cancel()

    async def _read(
        self, reader: asyncio.StreamReader, queue: "asyncio.Queue[tuple[float, bytes]]", opened: float
    ) -> None:
        data = b"-"
        while data:
            try:
                data = await reader.read(_CHUNK)
            except OSError:
                data = b""
            queue.put_nowait((max(self._loop.time(), opened) + self.delay_ms / 1000, data))

    def _count(self, size: int, up: bool) -> None:
        if up:
            self.bytes_up += size
        else:
            self.bytes_down += size


async def _until_cut(pair: "list[asyncio.Task[bool]]") -> None:
    """Return when both ways ended, or one was cut."""
    try:
        for way in asyncio.as_completed(pair):
            if not await way:
                return
    finally:
        for task in pair:
            task.cancel()
