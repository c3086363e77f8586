"""The HTTP connections of scripts/chaos: requests that may be cut short, and responses that may not come."""

import asyncio
import collections
import json
import socket
import struct

TIMEOUT_SECONDS = 20
Response = collections.namedtuple("Response", "status headers body")


class NotSent(Exception):
    """The request was not sent, or not to its end."""


class Unanswered(Exception):
    """It is not known what became of the request."""


class Wire:
    """A connection to one instance, made again where it broke off."""

    def __init__(self):
        self.streams = None

    def close(self):
        """Resets the connection, where there is one."""
        if self.streams:
            transport = self.streams[1].transport
            connection = transport.get_extra_info("socket")
            if not transport.is_closing() and connection is not None:
                # Without lingering, what is closed is reset.
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            transport.abort()
        self.streams = None

    async def ask(self, port, method, path, headers, body, patience=None, is_partial=False):
        """Returns the response.

        Hangs up after so many seconds of patience, or in the middle of sending the request.
        """
        data = (json.dumps(body) if not isinstance(body, (str, type(None))) else body or "").encode()
        head = [f"{method} {path} HTTP/1.1", f"Host: 127.0.0.1:{port}", f"Content-Length: {len(data)}"]
        head += [f"{name}: {value}" for name, value in headers.items()]
        request = "\r\n".join(head).encode() + b"\r\n\r\n" + data
        try:
            if self.streams is None or self.streams[0].at_eof():
                self.close()
                self.streams = await asyncio.wait_for(asyncio.open_connection("127.0.0.1", port), TIMEOUT_SECONDS)
        except (OSError, asyncio.TimeoutError) as error:
            raise NotSent from error
        reader, writer = self.streams
        if is_partial:
            # All but the last byte of the body: the request never becomes one.
            writer.write(request[:-1])
            await asyncio.sleep(0.02)
            writer.close()
            self.streams = None
            raise NotSent
        try:
            writer.write(request)
            return await asyncio.wait_for(self.response(reader), TIMEOUT_SECONDS if patience is None else patience)
        except (OSError, EOFError, ValueError, asyncio.TimeoutError) as error:
            if patience is not None and patience < 0.5:
                # As many clients do, it only ends the connection; others reset it.
                writer.close()
                self.streams = None
            self.close()
            raise Unanswered from error

    async def response(self, reader):
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
    """The version of a place, which is its entity tag; None where there is none."""
    tag = response.headers.get("etag")
    return int(tag.strip('"')) if tag else None
