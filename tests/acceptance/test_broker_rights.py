"""A RabbitMQ that answers and does not let the server work: commands say which right is missing."""

import contextlib
import secrets
import socket
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

import pytest

from server.messaging import amqp, rabbitmq_rights
from server.runtime.sockets import open_sockets, port_of
from tests.acceptance.test_operations import parley

ALL = ".*"


@dataclass(frozen=True)
class Stranger:
    """A user of RabbitMQ, and a virtual host."""

    name: str
    host: str
    url: str

    def may(self, configure: str, write: str, read: str) -> None:
        rabbitmqctl("set_permissions", "-p", self.host, self.name, configure, write, read)

    def may_not_enter(self) -> None:
        rabbitmqctl("clear_permissions", "-p", self.host, self.name)


def rabbitmqctl(*arguments: str) -> str:
    return subprocess.run(
        ["rabbitmqctl", "-q", *arguments], check=True, capture_output=True, text=True
    ).stdout


@pytest.fixture(scope="module")
def stranger(amqp_url: str) -> Iterator[Stranger]:
    address = urlsplit(amqp_url)
    host, name = address.path[1:], f"parley_{secrets.token_hex(4)}"
    if not host.startswith("parley_test"):
        pytest.skip("users of this RabbitMQ cannot be made here")
    rabbitmqctl("add_user", name, "canary")
    try:
        place = f"{address.hostname}:{address.port}/{quote(host)}"
        yield Stranger(name, host, f"amqp://{name}:canary@{place}")
    finally:
        rabbitmqctl("delete_user", name)


@pytest.mark.parametrize(
    ("rights", "missing"),
    [
        (("", "", ""), "to configure, to write, to read"),
        (("", ALL, ALL), "to configure"),
        ((ALL, "^jobs", ALL), "to write"),
        ((ALL, ALL, "^events"), "to read"),
    ],
)
def test_check_says_which_right_is_missing(
    stranger: Stranger, database_url: str, rights: tuple[str, str, str], missing: str
):
    stranger.may(*rights)

    done = parley("check", DATABASE_URL=database_url, AMQP_URL=stranger.url)

    command = f"rabbitmqctl set_permissions -p {stranger.host} {stranger.name} '.*' '.*' '.*'"
    assert done.status == 1
    assert (
        f"wrong  broker     The user {stranger.name} lacks a right in RabbitMQ's virtual host"
        f" {stranger.host} ({missing}): `{command}` gives it.\n"
    ) in done.out


def test_enough_rights_are_enough(stranger: Stranger, database_url: str):
    stranger.may("^(jobs|events)", r"^(jobs|events|amq\.default)", "^(jobs|events)")

    done = parley("check", DATABASE_URL=database_url, AMQP_URL=stranger.url)

    assert "RabbitMQ answers" in done.out
    assert "check." not in rabbitmqctl("list_queues", "-p", stranger.host, "name")


def test_nothing_starts_without_rights(stranger: Stranger, database_url: str):
    stranger.may_not_enter()
    for arguments in (("serve", "--port", "0"), ("worker",), ("run", "--port", "0")):
        done = parley(*arguments, DATABASE_URL=database_url, AMQP_URL=stranger.url)
        assert done.status == 1
        assert done.err.startswith(f"parley: RabbitMQ does not let the user {stranger.name} into")
        assert done.err.count("\n") == 1
    stranger.may(ALL, "", ALL)
    done = parley("worker", DATABASE_URL=database_url, AMQP_URL=stranger.url)
    assert "(to write)" in done.err
    assert done.err.count("\n") == 1


def test_a_wrong_password_is_said_and_not_shown(stranger: Stranger, database_url: str):
    wrong = stranger.url.replace("canary", "sparrow")

    done = parley("serve", "--port", "0", DATABASE_URL=database_url, AMQP_URL=wrong)

    assert (done.status, done.err) == (
        1,
        "parley: RabbitMQ does not accept the name and password in AMQP_URL.\n",
    )


@pytest.fixture(params=["ends", "hangs"])
def no_broker(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[str, str]]:
    """What listens where a broker should, and what is said of it."""
    monkeypatch.setattr(amqp, "CONNECT_TIMEOUT_SECONDS", 1)
    monkeypatch.setattr(rabbitmq_rights, "SECONDS", 1)
    [listening] = open_sockets("127.0.0.1", 0)
    listening.setblocking(True)

    def end_all() -> None:
        with contextlib.suppress(OSError):
            while True:
                listening.accept()[0].close()

    ends = request.param == "ends"
    accepting = threading.Thread(target=end_all) if ends else None
    if accepting:
        accepting.start()
    said = "ends connections before a word of AMQP" if ends else "says no word of AMQP within"
    yield f"amqp://guest:guest@127.0.0.1:{port_of([listening])}/", said
    listening.shutdown(socket.SHUT_RDWR)  # ends the thread's wait
    listening.close()
    if accepting:
        accepting.join()


def test_what_is_no_broker_is_said_in_a_sentence(no_broker: tuple[str, str], database_url: str):
    url, said = no_broker
    for arguments in (("queues", "list"), ("status", "--port", "1"), ("check",)):
        done = parley(*arguments, DATABASE_URL=database_url, AMQP_URL=url)
        told = [line for line in (done.out + done.err).splitlines() if said in line]
        assert len(told) == 1, done
        assert "Error" not in told[0]
        assert "prev_state" not in told[0]
