"""A client of HTTP/1.1 for measurements of single requests."""

import socket
import sys


class Connection:
    """A persistent connection with one request at a time."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=30)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.received = b""

    def send(self, request):
        """Sends a request and returns the status, the header fields and the body of the response."""
        self.socket.sendall(request)
        while b"\r\n\r\n" not in self.received:
            self.receive()
        head, self.received = self.received.split(b"\r\n\r\n", 1)
        lines = head.decode().split("\r\n")
        fields = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines[1:])}
        status = int(lines[0].split()[1])
        length = 0 if status in (204, 304) else int(fields["content-length"])
        while len(self.received) < length:
            self.receive()
        body, self.received = self.received[:length], self.received[length:]
        return status, fields, body

    def receive(self):
        data = self.socket.recv(1 << 20)
        if not data:
            sys.exit("the server closed the connection")
        self.received += data


def request(target, method="GET", body=None, **fields):
    """Returns the bytes of a request."""
    lines = [f"{method} {target} HTTP/1.1", "host: localhost", "user-agent: waymark-benchmark", "accept: */*"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in fields.items()]
    if body is not None:
        lines += ["content-type: application/json", f"content-length: {len(body)}"]
    return ("\r\n".join(lines) + "\r\n\r\n" + (body or "")).encode()
