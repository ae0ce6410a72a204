"""Host names under which the operator's port may be asked for."""

import socket

import pytest

from server.operator.known_hosts import KnownHosts

HOSTS = KnownHosts(["operator.example.com", "chat.example.com"])


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "127.0.0.1:9980",
        "[::1]:9980",
        "[::1]",
        "10.1.2.3:80",
        "localhost:9980",
        "parley:9980",
        "operator.example.com",
        "OPERATOR.example.com.:443",
        "x.localhost",
        socket.gethostname(),
    ],
)
def test_known_hosts(host):
    assert host in HOSTS


@pytest.mark.parametrize(
    "host",
    [
        "",
        "evil.example",
        "evil.example:9980",
        "127.0.0.1.evil.example",
        "operator.example.com.evil",
        "127.0.0.1.nip.io",
        "[::1].evil.example",
        "evil.operator.example.com",
        "localhost.evil.com",
    ],
)
def test_names_that_a_stranger_may_own_are_unknown(host):
    assert host not in HOSTS
