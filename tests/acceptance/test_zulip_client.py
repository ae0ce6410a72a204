"""The `zulip` package from PyPI, unmodified: it sends, receives, and outlives its server."""

import queue
import signal
import threading

import zulip

from testkit.clients.pypi_clients import queues_of, say, wait_for_queue

PATIENCE_SECONDS = 60
LAST = "that is all"


class EnoughError(Exception):
    """Ends a client that would listen for ever."""


class Listener:
    """A client in a thread, and the messages that it has been called with."""

    def __init__(self, client: zulip.Client) -> None:
        self._client = client
        self._heard: queue.Queue[str] = queue.Queue()
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def next(self) -> str:
        return self._heard.get(timeout=PATIENCE_SECONDS)

    def join(self) -> None:
        self._thread.join(PATIENCE_SECONDS)
        assert not self._thread.is_alive()

    def _listen(self) -> None:
        try:
            self._client.call_on_each_message(self._hear)
        except EnoughError:
            return

    def _hear(self, message: dict[str, object]) -> None:
        self._heard.put(str(message["content"]))
        if message["content"] == LAST:
            raise EnoughError


def test_a_client_sends_receives_and_survives_a_kill_of_the_server(
    servers, clients, world, database_url
):
    alice, bob = clients
    assert alice.get_profile()["email"] == world.users[0].email
    listener = Listener(bob)
    wait_for_queue(database_url, world.users[1].user_id)
    say(alice, "before")
    assert listener.next() == "before"

    [process] = servers.processes
    process.send_signal(signal.SIGKILL)
    process.wait()
    servers.start_missing()
    for content in ("after", "and again", LAST):
        say(alice, content)

    assert [listener.next() for _ in range(3)] == ["after", "and again", LAST]
    listener.join()
    assert len(queues_of(database_url, world.users[1].user_id)) == 1
