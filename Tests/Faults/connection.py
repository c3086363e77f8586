"""HTTP connections with partial requests and timeouts."""

import asyncio
import collections
import json
import socket
import struct

TIMEOUT_SECONDS = 20
Response = collections.namedtuple("Response", "status headers body")


class NotSent(Exception):
    """The request was not sent, or not completely."""


class NoResponse(Exception):
    """The request was sent, and its outcome is unknown."""


class Connection:
    """A persistent connection to one instance, which is opened again after an error."""

    def __init__(self):
        self.streams = None

    def close(self):
        """Resets the connection, if there is one."""
        if self.streams:
            transport = self.streams[1].transport
            tcp_socket = transport.get_extra_info("socket")
            if not transport.is_closing() and tcp_socket is not None:
                # A linger time of 0 makes close() send a reset.
                tcp_socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            transport.abort()
        self.streams = None

    async def request(self, port, method, path, headers, body, timeout=None, is_partial=False):
        """Returns the response. Disconnects after a timeout in seconds, or before the end of a partial request."""
        data = (json.dumps(body) if not isinstance(body, (str, type(None))) else body or "").encode()
        head = [f"{method} {path} HTTP/1.1", f"Host: 127.0.0.1:{port}", f"Content-Length: {len(data)}"]
        head += [f"{name}: {value}" for name, value in headers.items()]
        message = "\r\n".join(head).encode() + b"\r\n\r\n" + data
        try:
            if self.streams is None or self.streams[0].at_eof():
                self.close()
                self.streams = await asyncio.wait_for(asyncio.open_connection("127.0.0.1", port), TIMEOUT_SECONDS)
        except (OSError, asyncio.TimeoutError) as error:
            raise NotSent from error
        reader, writer = self.streams
        if is_partial:
            # Without the last byte of the body, the request is never complete.
            writer.write(message[:-1])
            await asyncio.sleep(0.02)
            writer.close()
            self.streams = None
            raise NotSent
        try:
            writer.write(message)
            return await asyncio.wait_for(self.read_response(reader), TIMEOUT_SECONDS if timeout is None else timeout)
        except (OSError, EOFError, ValueError, asyncio.TimeoutError) as error:
            if timeout is not None and timeout < 0.5:
                # Closes without a reset, as some clients do.
                writer.close()
                self.streams = None
            self.close()
            raise NoResponse from error

    async def read_response(self, reader):
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        status = int(head[0].split()[1])
        fields = (line.partition(":") for line in head[1:] if line)
        headers = {name.lower(): value.strip() for name, _, value in fields}
        if status in (204, 304):
            body = b""
        elif headers.get("transfer-encoding") == "chunked":
            pieces = []
            while length := int(await reader.readuntil(b"\r\n"), 16):
                pieces.append((await reader.readexactly(length + 2))[:-2])
            await reader.readuntil(b"\r\n")
            body = b"".join(pieces)
        else:
            body = await reader.readexactly(int(headers["content-length"]))
        if headers.get("connection") == "close":
            self.close()
        return Response(status, headers, body)


def version_of(response):
    """Returns the version of a place from the entity tag of a response; None if there is none."""
    tag = response.headers.get("etag")
    return int(tag.strip('"')) if tag else None
