"""A TCP proxy that cuts, stalls and delays connections, on the event loop of its caller."""

import asyncio
import collections

# The two directions of a connection.
REQUESTS, RESPONSES = "requests", "responses"


class Proxy:
    """A proxy that forwards connections to a local port."""

    def __init__(self, target_port):
        self.target_port = target_port
        self.port = None
        self.links = set()
        # The directions in which no data is forwarded.
        self.stalled = frozenset()
        self.delay_seconds = 0.0
        # True if new connections are reset at once.
        self.is_refusing = False

    async def start(self):
        loop = asyncio.get_running_loop()
        self.server = await loop.create_server(lambda: _Side(_Link(self), REQUESTS), "127.0.0.1", 0)
        self.port = self.server.sockets[0].getsockname()[1]

    def stall(self, directions=(REQUESTS, RESPONSES)):
        """Stops forwarding until resumed. New connections are accepted."""
        self.stalled = frozenset(directions)
        for link in self.links:
            link.update()

    def resume(self):
        self.stalled = frozenset()
        for link in self.links:
            link.update()

    def clear_faults(self):
        self.is_refusing = False
        self.delay_seconds = 0.0
        self.resume()

    def cut(self, links=None):
        """Resets the given connections, or all, and discards their data."""
        for link in list(self.links if links is None else links):
            link.abort()


class _Link:
    """A connection from a client, with the connection to the target."""

    def __init__(self, proxy):
        self.proxy = proxy
        self.sides = {}
        # The data to be forwarded in each direction, with the times at which it is due; None is the end of the stream.
        self.queues = {REQUESTS: collections.deque(), RESPONSES: collections.deque()}
        self.is_full = {REQUESTS: False, RESPONSES: False}
        self.ended = set()
        self.is_aborted = False

    def opened(self, side):
        self.sides[side.direction] = side
        if self.is_aborted:
            side.transport.abort()
            return
        if side.direction == REQUESTS:
            if self.proxy.is_refusing:
                self.abort()
                return
            self.proxy.links.add(self)
            asyncio.get_running_loop().create_task(self.connect())
        self.update()

    async def connect(self):
        try:
            loop = asyncio.get_running_loop()
            await loop.create_connection(lambda: _Side(self, RESPONSES), "127.0.0.1", self.proxy.target_port)
        except OSError:
            self.abort()

    def forward(self, direction, data):
        due = asyncio.get_running_loop().time() + self.proxy.delay_seconds
        queue = self.queues[direction]
        if queue:
            due = max(due, queue[-1][0])
        queue.append((due, data))
        self.pump(direction)

    def pump(self, direction):
        target = self.sides.get(RESPONSES if direction == REQUESTS else REQUESTS)
        if target is None or direction in self.proxy.stalled:
            return
        loop = asyncio.get_running_loop()
        queue = self.queues[direction]
        while queue:
            due, data = queue[0]
            if due > loop.time():
                loop.call_at(due, self.pump, direction)
                return
            queue.popleft()
            if target.transport.is_closing():
                continue
            if data is not None:
                target.transport.write(data)
            else:
                target.transport.close()

    def update(self):
        """Pauses reading from the sides whose data cannot be forwarded, and resumes the others."""
        for direction, side in self.sides.items():
            if side.transport.is_closing():
                continue
            if direction in self.proxy.stalled or self.is_full[direction]:
                side.transport.pause_reading()
            else:
                side.transport.resume_reading()
                self.pump(direction)

    def closed(self, direction, error):
        self.ended.add(direction)
        if error is not None:
            self.abort()
        else:
            self.forward(direction, None)
        if len(self.ended) == 2:
            self.proxy.links.discard(self)

    def abort(self):
        self.is_aborted = True
        for queue in self.queues.values():
            queue.clear()
        for side in self.sides.values():
            side.transport.abort()
        self.proxy.links.discard(self)


class _Side(asyncio.Protocol):
    """One end of a link; its direction is that of the data it reads."""

    def __init__(self, link, direction):
        self.link = link
        self.direction = direction

    def connection_made(self, transport):
        self.transport = transport
        self.link.opened(self)

    def data_received(self, data):
        self.link.forward(self.direction, data)

    def connection_lost(self, error):
        self.link.closed(self.direction, error)

    def pause_writing(self):
        self.set_full(True)

    def resume_writing(self):
        self.set_full(False)

    def set_full(self, is_full):
        # The write buffer of this side is filled by the other direction.
        other = RESPONSES if self.direction == REQUESTS else REQUESTS
        self.link.is_full[other] = is_full
        self.link.update()
