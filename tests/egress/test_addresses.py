"""Which addresses are refused, however they are written and however one is led there."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.egress import EgressRefusedError
from server.egress.guard import CheckedUrl, Guard
from server.settings.network_types import Destinations, Ports

NOT_PUBLIC = """
0.0.0.0 0.0.0.1 10.0.0.1 10.255.255.255 100.64.0.1 100.100.100.200 100.127.255.255 127.0.0.1
127.0.0.53 127.255.255.255 168.63.129.16 169.254.0.1 169.254.169.254 169.254.170.2 172.16.0.1
172.31.255.255 192.0.0.8 192.0.0.192 192.0.2.1 192.88.99.1 192.168.0.1 192.168.255.255 198.18.0.1
198.19.255.255 198.51.100.7 203.0.113.9 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255
:: ::1 ::127.0.0.1 ::7f00:1 ::ffff:127.0.0.1 ::ffff:10.1.2.3 ::ffff:169.254.169.254
::ffff:0:127.0.0.1 64:ff9b::7f00:1 64:ff9b::a9fe:a9fe 64:ff9b::192.168.1.1
64:ff9b:1::1 64:ff9b:1::808:808 100::1
2001::1 2001:10::1 2001:db8::1 2002:7f00:1:: 2002:a9fe:a9fe:: 3fff::1 4000::1 5f00::1 8000::1
fc00::1 fd00::1 fd00:ec2::254 fe80::1 fe80::a9fe:a9fe febf::1 fec0::1 ff01::1 ff02::1 ff0e::1
""".split()  # noqa: SIM905 - many
WRITTEN_ODDLY = """
127.1 127.0.1 2130706433 0x7f000001 0x7f.1 0177.0.0.1 017700000001 0 0x0 10.1 169.254.43518
0xa9fea9fe 2852039166 0251.0376.0251.0376 127.0.0.1. 0300.0250.1
""".split()  # noqa: SIM905 - many
PUBLIC = """
1.1.1.1 8.8.8.8 93.184.215.14 100.63.255.255 100.128.0.1 172.15.0.1 172.32.0.1 192.0.1.1 198.20.0.1
2001:4860:4860::8888 2606:4700:4700::1111 2a00:1450:4001::1 ::ffff:8.8.8.8 64:ff9b::808:808
""".split()  # noqa: SIM905 - many


def guard(allowed: str = "", ports: str = "80,443") -> Guard:
    return Guard(Destinations(allowed), Ports(ports))


def check(host: str, using: Guard) -> None:
    bracketed = f"[{host}]" if ":" in host else host
    using.check(CheckedUrl.of(f"http://{bracketed}/"))


def test_there_are_enough_of_them():
    assert len({*NOT_PUBLIC, *WRITTEN_ODDLY}) >= 75


@pytest.mark.parametrize("address", [*NOT_PUBLIC, *WRITTEN_ODDLY])
def test_an_address_of_a_private_network_is_refused(address):
    with pytest.raises(EgressRefusedError, match="private network"):
        check(address, guard())


@pytest.mark.parametrize("address", NOT_PUBLIC)
def test_a_name_that_leads_there_is_refused(address):
    for found in ([address], ["8.8.8.8", address], [address, "8.8.8.8"]):
        with pytest.raises(EgressRefusedError, match="private network"):
            guard().permitted("rebinding.example", 80, found)


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_are_allowed(address):
    check(address, guard())
    assert guard().permitted("example.com", 443, [address, address]) == [address]


@pytest.mark.parametrize(
    ("allowed", "host", "address"),
    [
        ("127.0.0.0/8", "bot.example", "127.0.0.1"),
        ("10.0.0.0/8, fd00::/8", "bot.example", "fd00::7"),
        ("10.0.0.0/8", "10.1.2.3", "10.1.2.3"),
        ("10.0.0.0/8", "::ffff:10.1.2.3", "::ffff:10.1.2.3"),
        ("bots.internal", "bots.internal", "192.168.7.7"),
        ("bots.internal", "BOTS.internal.", "192.168.7.7"),
    ],
)
def test_what_the_operator_allows_is_open_on_every_port(allowed, host, address):
    assert guard(allowed).permitted(host, 5002, [address]) == [address]


def test_what_is_allowed_opens_nothing_beside_it():
    for allowed in ("127.0.0.1/32", "bots.internal"):
        for host in ("other.internal", "xbots.internal", "bots.internal.evil.example"):
            with pytest.raises(EgressRefusedError):
                guard(allowed).permitted(host, 80, ["127.0.0.2"])


@pytest.mark.parametrize("port", [1, 22, 25, 6379, 8080, 11211])
def test_other_ports_are_refused(port):
    for host in ("example.com", "8.8.8.8"):
        with pytest.raises(EgressRefusedError, match=f"port {port}"):
            guard().check(CheckedUrl.of(f"http://{host}:{port}/"))
    with pytest.raises(EgressRefusedError, match=f"port {port}"):
        guard("127.0.0.0/8").permitted("example.com", port, ["8.8.8.8"])
    assert guard(ports=f"{port}").permitted("example.com", port, ["8.8.8.8"])


@pytest.mark.parametrize(
    "url",
    [
        "",
        "example.com",
        "//example.com/",
        "ftp://example.com/",
        "file:///etc/passwd",
        "gopher://example.com/",
        "javascript:alert(1)",
        "http://",
        "http:///path",
        "http://user@example.com/",
        "http://user:password@example.com/",
        "http://@example.com/",
        "http://example.com@127.0.0.1/",
        "http://example.com:99999/",
        "http://example.com:port/",
        "http://exa mple.com/",
        "http://example.com/\r\nX-Header: 1",
        "http://example.com\\@127.0.0.1/",
        "http://ex%61mple.com/",
        'http://ex"ample.com/',
        "http://example.com,127.0.0.1/",
        "http://[::1/",
        "http://[not-an-address]/",
        "http://" + "ä" * 70 + ".example/",
        "http://example.com/" + "x" * 2048,
    ],
)
def test_what_is_no_address_of_a_web_server_is_refused(url):
    with pytest.raises(EgressRefusedError):
        CheckedUrl.of(url)


def test_a_url_is_taken_apart_once():
    target = CheckedUrl.of("HTTPS://Bücher.example:8443/ä b?q=ü#fragment".replace(" ", "%20"))
    assert target == CheckedUrl("https", "xn--bcher-kva.example", 8443, "/%C3%A4%20b?q=%C3%BC")
    assert target.url == "https://xn--bcher-kva.example:8443/%C3%A4%20b?q=%C3%BC"
    assert CheckedUrl.of("http://[2001:4860::1]:80").url == "http://[2001:4860::1]/"


@given(
    st.sampled_from(["http://", "https://", "HTTP:", "//", ""]),
    st.text(alphabet="ab.:/@[]?#%\\&=ä①0127 x-", max_size=30),
)
def test_a_url_means_the_same_when_it_is_read_again(start, rest):
    try:
        target = CheckedUrl.of(start + rest)
    except EgressRefusedError:
        return
    assert target.url.isascii()
    assert CheckedUrl.of(target.url) == target
