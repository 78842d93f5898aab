"""Clients that mean no good: so many, so slow or so ambiguous that others could suffer."""
import contextlib
import pathlib
import resource
import socket
import time
import unittest
import urllib.parse

from serve_case import ServeCase

IDLE = 10_000
PEERS = 5  # A peer may have 4096 connections; all of 127.0.0.0/8 is this machine.


class FloodTest(ServeCase):
    def setUp(self):
        super().setUp()
        most = resource.getrlimit(resource.RLIMIT_NOFILE)
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, most)
        wanted = 2 * IDLE
        if most[1] < wanted:
            self.skipTest(f"missing: a limit of {wanted} open files")
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most[1]))
        self.start()
        url = urllib.parse.urlsplit(self.url)
        self.address = (url.hostname, url.port)

    def connect(self, peer=1):
        return socket.create_connection(self.address, timeout=30,
                                        source_address=(f"127.0.0.{peer}", 0))

    def send(self, request):
        """All that the server answers to these bytes, until it closes."""
        with self.connect() as connection:
            connection.sendall(request)
            pieces = []
            while piece := connection.recv(65536):
                pieces.append(piece)
            return b"".join(pieces)

    def others_are_served(self):
        start = time.monotonic()
        number = self.submit("--", "true")
        self.wait_for_state(number, "succeeded")
        with self.connect(peer=9) as connection:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            self.assertTrue(connection.recv(100).startswith(b"HTTP/1.1 200 "))
        self.assertLess(time.monotonic() - start, 20)

    def resident_kib(self):
        status = pathlib.Path(f"/proc/{self.server.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0])

    def test_ten_thousand_idle_connections(self):
        before = self.resident_kib()
        with contextlib.ExitStack() as all_of_them:
            for at in range(IDLE):
                all_of_them.enter_context(self.connect(peer=2 + at % PEERS))
            self.others_are_served()
            metrics = self.ask_metrics()
            self.assertIn("tutti_http_connections 1000", metrics)
            self.assertIn("tutti_http_connections_refused_total 0\n", metrics)
            # A few KiB each, and in this build what the sanitizer keeps beside every allocation.
            self.assertLess(self.resident_kib() - before, IDLE * 40)
        self.others_are_served()

    def ask_metrics(self):
        request = b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(urllib.parse.unquote(self.socket.removeprefix("unix:")))
            connection.sendall(request)
            return b"".join(iter(lambda: connection.recv(65536), b"")).decode()

    def test_requests_that_trickle_in(self):
        with contextlib.ExitStack() as all_of_them:
            slow = [all_of_them.enter_context(self.connect()) for _ in range(1000)]
            for connection in slow:
                connection.sendall(b"POST /api/v1/jobs HTTP/1.1\r\nHost: x\r\n")
            for _ in range(3):
                self.others_are_served()
                for connection in slow:
                    with contextlib.suppress(OSError):  # The server has had enough of it.
                        connection.sendall(b"X-A: b\r\n")

    def test_what_could_be_two_requests_is_none(self):
        hidden = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
        length = b"%d" % len(hidden)
        for headers in (
                b"Content-Length: " + length + b"\r\nTransfer-Encoding: chunked\r\n",
                b"Content-Length: 0\r\nContent-Length: " + length + b"\r\n",
                b"Content-Length: " + length + b", 0\r\n",
                b"Content-Length: +" + length + b"\r\n",
                b"Content-Length : " + length + b"\r\n",
                b"Transfer-Encoding: xchunked\r\n",
                b"Transfer-Encoding: chunked, identity\r\n",
                b"Transfer-Encoding:\x0bchunked\r\n",
                b"X: a\r\n Content-Length: " + length + b"\r\n",
                b"X: a\nContent-Length: " + length + b"\r\n"):
            first = b"POST /healthz HTTP/1.1\r\nHost: x\r\n" + headers + b"\r\n"
            answer = self.send(first + hidden)
            self.assertEqual(answer.count(b"HTTP/1.1 "), 1, headers)
            self.assertRegex(answer, rb"^HTTP/1.1 (400|501) ", headers)
        self.others_are_served()


if __name__ == "__main__":
    unittest.main()
