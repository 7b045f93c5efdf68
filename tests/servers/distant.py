"""A target that is far away: a relay in front of it holds every byte back for a while, each way."""

import asyncio
from threading import Thread

HOST = "127.0.0.1"


class Distant:
    """`with Distant(port, 0.03) as far: far.port`; `accepted` counts connections, `open` those that are open now.

    Connecting itself takes no time: the kernel does that. A thread of its own runs it.
    """

    def __init__(self, port: int, one_way_s: float) -> None:
        self.accepted = 0
        self.open = 0
        self.most_open = 0
        self.port = 0
        self._target_port = port
        self._one_way_s = one_way_s
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> "Distant":
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result(5)
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(5)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)
        self._loop.close()

    async def _end(self) -> None:
        relays = asyncio.all_tasks() - {asyncio.current_task()}
        for one in relays:
            one.cancel()
        await asyncio.gather(*relays, return_exceptions=True)

    async def _listen(self) -> None:
        server = await asyncio.start_server(self._relay, HOST, 0, backlog=2_048)
        self.port = server.sockets[0].getsockname()[1]

    async def _relay(self, near: asyncio.StreamReader, to_near: asyncio.StreamWriter) -> None:
        self.accepted += 1
        self.open += 1
        self.most_open = max(self.most_open, self.open)
        far, to_far = await asyncio.open_connection(HOST, self._target_port)
        try:
            await asyncio.gather(self._pass_on(near, to_far), self._pass_on(far, to_near))
        finally:
            self.open -= 1

    async def _pass_on(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        try:
            while data := await source.read(65_536):
                self._loop.call_later(self._one_way_s, sink.write, data)
        except OSError:
            pass
        self._loop.call_later(self._one_way_s, sink.close)
