"""What a broker has too little of is said before queues stand still."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

from typing_extensions import override

from server.messaging.rabbitmq_limits import shortage

URL = "amqp://guest:guest@127.0.0.1:5672/"


@contextmanager
def saying(*, files: int, used: int, queues: int) -> Iterator[int]:
    """The port of a management plugin that says this."""
    answers = {
        "/api/nodes": [{"name": "rabbit@here", "fd_total": files, "fd_used": used}],
        "/api/vhost-limits/%2F": [{"vhost": "/", "value": {"max-queues": queues}}],
    }

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            body = json.dumps(answers[self.path]).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        @override
        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


def test_each_limit_that_is_too_low_is_named():
    for files, used, queues, said in (
        (65536, 300, -1, []),
        (1024, 700, -1, ["files"]),
        (65536, 300, 100, ["queues"]),
        (1024, 1000, 0, ["files", "queues"]),
    ):
        with saying(files=files, used=used, queues=queues) as port:
            found = shortage(URL, port=port)
        assert found is not None
        assert len(found) == len(said)
        assert all(word in sentence for word, sentence in zip(said, found, strict=True))


def test_without_the_plugin_nothing_is_known():
    assert shortage(URL, port=1) is None
