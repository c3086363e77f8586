"""Clients of HTTP for checks and benchmarks, on the loopback address."""

import http.client
import json
import socket
import struct
import sys
import urllib.request


def responds_with_200(port, path, timeout=30):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()


def silent_client(port, request):
    """Sends a request and returns the socket, which has a small buffer and is never read."""
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.connect(("127.0.0.1", port))
    client.sendall(request)
    return client


def get_request(target):
    return f"GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()


def problem_code(body):
    """Returns the code of a problem document; "none" if there is none."""
    try:
        return json.loads(body)["code"]
    except (ValueError, KeyError, TypeError):
        return "none"


def get(port, target, timeout=60, **headers):
    """Returns the body and the header fields of a response. Raises an OSError unless its status is 2xx."""
    request = urllib.request.Request(f"http://127.0.0.1:{port}{target}", headers=headers)
    with urllib.request.urlopen(request, timeout=timeout) as response:
        return response.read(), response.headers


def metrics(port, timeout=60):
    """Returns the values of a server's metrics by series, such as `store_pool_connections{state="idle"}`."""
    lines = get(port, "/metrics", timeout)[0].decode().splitlines()
    return {series: float(value) for series, _, value in (line.rpartition(" ") for line in lines if line[:1] not in ("", "#"))}


class Client:
    """A persistent connection for one request after another, from an address if one is given."""

    def __init__(self, port, timeout=60, address=None):
        source = (address, 0) if address else None
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout, source_address=source)

    def send(self, method, target, body=None, **headers):
        """Returns the status, the header fields and the body of the response. A body that is not bytes is sent as JSON."""
        fields = {name.replace("_", "-"): value for name, value in headers.items()}
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body)
            fields.setdefault("Content-Type", "application/json")
        self.connection.request(method, target, body=body, headers=fields)
        response = self.connection.getresponse()
        return response.status, response.headers, response.read()


# HTTP/2, RFC 9113 and RFC 7541

HTTP2_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def http2_frame(kind, flags, stream, payload):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


# Measurements of single requests


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
