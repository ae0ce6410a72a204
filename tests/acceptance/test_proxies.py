"""The proxies of docs/deploy pass traffic on without an error while servers restart in turn."""

import base64
import http.client
import json
import os
import random
import re
import shutil
import ssl
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from testkit import fork_server
from testkit.faults import world as worlds
from testkit.faults.world import User, World
from testkit.free_ports import free_port
from testkit.services.mail_server import Certificate
from testkit.sources import ROOT
from testkit.test_services import PROGRAMS
from testkit.test_services import PROXIES as PROXIES_UNPACKED

DEPLOY = ROOT / "docs" / "deploy"
HOST = "chat.example.com"
ROUNDS = 1
PAUSE_SECONDS = 0.05
"""Between two requests of a client: the machine has other work."""
PATIENCE_SECONDS = 60
SETTLING_SECONDS = 3
"""Three health checks: so long after a server has started, the proxy sends it requests."""
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


class Served:
    """Two server processes on ports of their own, restarted one after the other."""

    def __init__(self, database_url: str, data: Path, delay: int) -> None:
        self._settles_in = min(delay, SETTLING_SECONDS)
        self.ports = [free_port(), free_port()]
        kept = {name: value for name, value in os.environ.items() if "PARLEY" not in name}  # noqa: TID251
        self._environment = {**kept, "DATABASE_URL": database_url, "PARLEY_DATA": str(data)}
        self._environment["PARLEY_RATE_LIMITS"] = "off"
        self._environment["PARLEY_SHUTDOWN_DELAY_SECONDS"] = str(delay)
        self._log = (data / "servers.log").open("ab")
        self._processes = {port: self._start(port) for port in self.ports}
        for port in self.ports:
            self._wait_until_ready(port)

    def restart(self, port: int) -> None:
        """Stop the process as systemd does, and start another in its place."""
        self._processes[port].terminate()
        assert self._processes[port].wait(PATIENCE_SECONDS) == 0
        self._processes[port] = self._start(port)
        self._wait_until_ready(port)
        settled = time.monotonic() + self._settles_in
        assert _wait_for(lambda: time.monotonic() > settled)

    def close(self) -> None:
        for each in self._processes.values():
            each.kill()
            each.wait()
        self._log.close()

    def _start(self, port: int) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "scripts.cli.main", "serve", "--port", str(port)]
        return fork_server.Popen(
            command, cwd=ROOT, env=self._environment, stdout=self._log, stderr=self._log
        )

    def _wait_until_ready(self, port: int) -> None:
        assert _wait_for(lambda: _answers(port)), f"no server on port {port}"


def _answers(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/ready")
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()


def _wait_for(condition: Callable[[], bool]) -> bool:
    ends = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < ends:
        if condition():
            return True
        time.sleep(0.05)
    return False


def program(name: str) -> str:
    """The installed program, or the one that testkit/test_services.py has unpacked."""
    places = f"{PROXIES_UNPACKED / name}/usr/sbin:{PROXIES_UNPACKED / name}/usr/bin:{PROGRAMS}"
    found = shutil.which(name, path=places)
    assert found, f"{name} is missing: ./scripts/test installs it"
    return found


def nginx(folder: Path, port: int, upstreams: list[int], certificate: Certificate) -> list[str]:
    """The command that starts nginx with the example, on these ports."""
    site = (DEPLOY / "nginx.conf").read_text()
    example = "    server 127.0.0.1:9991"
    [parameters] = re.findall(rf"^{example}(.*);$", site, re.MULTILINE)
    servers = "\n".join(f"    server 127.0.0.1:{each}{parameters};" for each in upstreams)
    site = site.replace(f"{example}{parameters};", servers)
    plain, _, rest = site.partition("server {\n    listen 80;")
    site = plain + "server {" + rest.partition("\nserver {")[2]
    site = site.replace("listen 443 ssl http2;", f"listen 127.0.0.1:{port} ssl http2;")
    site = site.replace("    listen [::]:443 ssl http2;\n", "")
    site = site.replace(
        "/etc/ssl/parley/fullchain.pem", str(certificate.folder / "certificate.pem")
    )
    site = site.replace("/etc/ssl/parley/privkey.pem", str(certificate.folder / "key.pem"))
    user = "user root;" if os.getuid() == 0 else ""
    paths = "\n".join(
        f"{kind}_temp_path {folder / kind};"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    whole = (
        f"daemon off; {user} pid {folder / 'nginx.pid'}; error_log {folder / 'error.log'};\n"
        f"events {{}}\nhttp {{ access_log {folder / 'access.log'};\n{paths}\n{site}\n}}\n"
    )
    (folder / "nginx.conf").write_text(whole)
    error_log = ("-e", str(folder / "error.log"))
    return [program("nginx"), *error_log, "-p", str(folder), "-c", str(folder / "nginx.conf")]


def caddy(folder: Path, port: int, upstreams: list[int], certificate: Certificate) -> list[str]:
    """The command that starts Caddy with the example, on these ports."""
    site = (DEPLOY / "Caddyfile").read_text()
    site = site.replace(
        f"\n{HOST} {{", f"\nhttps://{HOST}:{port} {{\n\ttls {{certificate}} {{key}}", 1
    )
    site = site.replace("{certificate}", str(certificate.folder / "certificate.pem"))
    site = site.replace("{key}", str(certificate.folder / "key.pem"))
    assert "reverse_proxy 127.0.0.1:9991 {" in site
    addresses = " ".join(f"127.0.0.1:{each}" for each in upstreams)
    site = site.replace("reverse_proxy 127.0.0.1:9991 {", f"reverse_proxy {addresses} {{")
    head = "{\n\tadmin off\n\tauto_https off\n\tstorage file_system " + str(folder) + "\n}\n"
    (folder / "Caddyfile").write_text(head + site)
    return [
        program("caddy"),
        "run",
        "--adapter",
        "caddyfile",
        "--config",
        str(folder / "Caddyfile"),
    ]


PROXIES = {"nginx": nginx, "caddy": caddy}
DELAYS = {"nginx": 0, "caddy": 5}
"""For how many seconds a server that stops waits for health checks to notice."""


@contextmanager
def proxying(command: list[str], folder: Path, port: int) -> Iterator[None]:
    with (folder / "proxy.log").open("ab") as log:
        libraries = ":".join(map(str, PROXIES_UNPACKED.glob("nginx/usr/lib/*-linux-gnu")))
        environment = {**os.environ, "LD_LIBRARY_PATH": libraries}  # noqa: TID251
        process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
        try:
            ready = _wait_for(lambda: _connects(port) or process.poll() is not None)
            assert ready, (folder / "proxy.log").read_text()
            assert process.poll() is None, (folder / "proxy.log").read_text()
            yield
        finally:
            process.terminate()
            process.wait(PATIENCE_SECONDS)


def _connects(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.connect()
    except OSError:
        return False
    connection.close()
    return True


class Traffic:
    """Clients that send, read and poll without a pause, each over one connection while it lasts."""

    def __init__(self, port: int, users: list[User]) -> None:
        self._port = port
        self._stopped = threading.Event()
        self.answers: Counter[tuple[str, object]] = Counter()
        self.sent: list[int] = []
        self._threads = [
            threading.Thread(target=self._work, args=(work, user))
            for user in users
            for work in (self._send, self._read, self._poll)
        ]
        self._tls = ssl.create_default_context()
        self._tls.check_hostname = False
        self._tls.verify_mode = ssl.CERT_NONE
        for each in self._threads:
            each.start()

    def stop(self) -> None:
        self._stopped.set()
        for each in self._threads:
            each.join(PATIENCE_SECONDS)
            assert not each.is_alive()

    def _work(self, work: Callable[["_Client"], None], user: User) -> None:
        client = _Client(self._port, self._tls, user, self.answers)
        while not self._stopped.is_set():
            work(client)
            time.sleep(PAUSE_SECONDS)
        client.close()

    def _send(self, client: "_Client") -> None:
        fields = {"type": "direct", "to": json.dumps([client.user.user_id]), "content": "hello"}
        answer = client.ask("POST", "/messages", fields)
        if answer is not None:
            self.sent.append(answer["id"])

    def _read(self, client: "_Client") -> None:
        client.ask("GET", "/messages?anchor=newest&num_before=5&num_after=0")

    def _poll(self, client: "_Client") -> None:
        if client.queue is None:
            answer = client.ask("POST", "/register", {"event_types": '["message"]'})
            if answer is None:
                return
            client.queue, client.last_id = answer["queue_id"], answer["last_event_id"]
        place = f"/events?queue_id={client.queue}&last_event_id={client.last_id}"
        answer = client.ask("GET", place)
        if answer is not None and answer["events"]:
            client.last_id = answer["events"][-1]["id"]


class _Client:
    def __init__(
        self, port: int, tls: ssl.SSLContext, user: User, answers: Counter[tuple[str, object]]
    ) -> None:
        self.user = user
        self.queue: str | None = None
        self.last_id = -1
        self._answers = answers
        self._connection = http.client.HTTPSConnection(
            "127.0.0.1", port, timeout=PATIENCE_SECONDS, context=tls
        )
        login = base64.b64encode(f"{user.email}:{user.api_key}".encode()).decode()
        self._headers = {"Authorization": f"Basic {login}", "Host": HOST, **FORM}

    def ask(
        self, method: str, path: str, fields: dict[str, str] | None = None
    ) -> dict[str, Any] | None:
        body = None if fields is None else urlencode(fields)
        try:
            self._connection.request(method, f"/api/v1{path}", body, self._headers)
            answer = self._connection.getresponse()
            content = answer.read()
        except (OSError, http.client.HTTPException) as error:
            self._answers[method, repr(error)] += 1
            self._connection.close()
            return None
        if answer.status == 200:
            self._answers[method, 200] += 1
            return dict(json.loads(content))
        # Without a body it is the proxy's own.
        refusal = f"{answer.status} {dict(answer.getheaders())} {content[:500]!r}"
        self._answers[method, refusal] += 1
        return None

    def close(self) -> None:
        self._connection.close()


@pytest.fixture(scope="module")
def world(database_url: str) -> World:
    world = worlds.imagine(random.Random(1), users=3, public=1, private=0)
    worlds.create(database_url, world)
    return world


@pytest.mark.parametrize("proxy", PROXIES)
def test_a_rolling_restart_behind_a_proxy_is_no_error_for_any_client(
    proxy: str, database_url: str, world: World, certificate: Certificate, tmp_path: Path
):
    served = Served(database_url, tmp_path, DELAYS[proxy])
    port = free_port()
    try:
        with proxying(PROXIES[proxy](tmp_path, port, served.ports, certificate), tmp_path, port):
            traffic = Traffic(port, list(world.users))
            try:
                for _ in range(ROUNDS):
                    for each in served.ports:
                        served.restart(each)
            finally:
                traffic.stop()
    finally:
        served.close()
    answers = dict(traffic.answers)
    assert {status for _, status in answers} == {200}, answers
    assert answers["POST", 200] > ROUNDS * 10
    assert len(traffic.sent) == len(set(traffic.sent))
