"""Hostile input for each entry point of the server."""

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote_plus, urlencode

from server.domain.clock import SystemClock
from server.domain.providers import SamlProvider
from server.identity.flows import Flow
from testkit.markdown.pathological import PATHOLOGICAL

MIB: Final = 1 << 20
LARGE: Final = frozenset({"ids", "depth", "emails"})
"""Values that are also sent as large as a body may be."""
BOUNDARY: Final = "-----b"


@dataclass(frozen=True)
class Sender:
    """An account that sends requests: a member, and a bot for webhooks."""

    host: str
    email: str
    api_key: str
    bot_key: str
    channel_id: int


@dataclass(frozen=True)
class Hostile:
    """One request, as it goes over the wire."""

    name: str
    request: bytes


def requests(sender: Sender) -> Iterator[Hostile]:
    """All of them, made one by one: they are large."""
    yield from _webhooks(sender)
    yield from _forms(sender)
    yield from _parameters(sender)
    yield from _searches(sender)
    yield from _uploads(sender)
    yield from _pages(sender)
    yield from _markdown(sender)


def mails(to: str) -> Iterator[tuple[str, bytes]]:
    """Emails with the worst lines, headers, parts or HTML for their reader."""
    head = f"From: a@example.com\r\nTo: {to}\r\nSubject: x\r\n".encode()
    size = 10 * MIB - 1000
    html = head + b"Content-Type: text/html\r\n\r\n"
    multipart = head + b'Content-Type: multipart/mixed; boundary="b"\r\n\r\n'
    yield "one-letter lines", head + b"\r\n" + b"a\r\n" * (size // 3)
    yield "dots", head + b"\r\n" + b"..\r\n" * (size // 4)
    yield "a million headers", head + b"a: b\r\n" * 1_000_000 + b"\r\nx"
    yield "long headers", head + (b"X-A: " + b"a " * 30_000 + b"\r\n") * 150 + b"\r\nx"
    yield "few long lines", head + b"\r\n" + (b"a" * 60_000 + b"\r\n") * (size // 60_002)
    yield "parts", multipart + b"--b\r\n\r\nx\r\n" * 19_000
    yield "parts in parts", head + _nested(900) + b"x\r\n" * 60_000
    yield "quoted lines", head + b"\r\n" + b"> a\r\n" * 90_000
    yield "an answer to nothing", head + b"\r\n" + b"On 1 May x wrote:\r\n" * 50_000
    yield "nested HTML", html + b"<div>\r\n" * 60_000
    yield "tables", html + b"<table><tr><td>\r\n" * 40_000
    yield (
        "base64",
        multipart
        + b"--b\r\nContent-Disposition: attachment; filename=a\r\n"
        + (b"Content-Transfer-Encoding: base64\r\n\r\n" + (b"QUJD" * 19 + b"\r\n") * 130_000),
    )


def documents() -> Iterator[tuple[str, bytes]]:
    """Answers in SAML, as large as they may be."""
    names = b'xmlns="urn:oasis:names:tc:SAML:2.0:protocol" ID="a" Version="2.0"'
    size = 180_000
    yield "elements", b"<Response %b>" % names + b"<a/>" * (size // 4) + b"</Response>"
    yield "depth", b"<Response %b>" % names + b"<a>" * (size // 3)
    spaces = b" ".join(b'xmlns:a%d="b"' % number for number in range(size // 20))
    yield "namespaces", b"<Response %b %b/>" % (names, spaces)
    attributes = b" ".join(b'a%d="b"' % number for number in range(size // 14))
    yield "attributes", b"<Response %b %b/>" % (names, attributes)
    entities = b'<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;">]>'
    yield "entities", entities + b"<Response %b>&b;</Response>" % names


def web_pages() -> Iterator[tuple[str, bytes]]:
    """Pages that are linked."""
    yield "elements", b"<meta>" * (MIB // 6)
    yield "depth", b"<div>" * (MIB // 5)
    yield "attributes", b"<meta " + b" ".join(b"a%d=b" % n for n in range(100_000)) + b">"
    yield "a title", b"<title>" + b" " * (MIB - 20)


SAML_PROVIDER: Final = SamlProvider(
    kind="saml",
    entity_id="https://id.example.com/metadata",
    sign_in_url="https://id.example.com/sso",
    certificate="MIIB",
)
SAML_PLACE: Final = "https://chat.example.com/complete/saml"
SAML_FLOW: Final = Flow.begin("saml", 1, wanted="/", otp="", now=SystemClock().now())


def encoded(document: bytes) -> str:
    """The document as a browser brings it."""
    return base64.b64encode(document).decode()


def _nested(depth: int) -> bytes:
    lines = (
        f'Content-Type: multipart/mixed; boundary="b{level}"\r\n\r\n--b{level}\r\n'
        for level in range(depth)
    )
    return "".join(lines).encode()


def _webhooks(sender: Sender) -> Iterator[Hostile]:
    arrays = b'{"blocks":' + b"[" + b"[]," * 349_000 + b"0]}"
    texts = json.dumps({"attachments": [{"text": "*a* _b_ ~c~ <d|e> " * 600}] * 90}).encode()
    marks = json.dumps({"text": "<" + "a|" * 7_000 + "*" * 4_000 + "_a" * 4_000}).encode()
    level = b'{"type":"rich_text_list","elements":['
    deep = b'{"blocks":[{"type":"rich_text","elements":[%s0%s]}]}' % (level * 450, b"]}" * 450)
    keys = json.dumps({f"k{number}": number for number in range(55_000)}).encode()
    for name, body in (
        ("arrays", arrays),
        ("many texts", texts),
        ("marks", marks),
        ("deep blocks", deep),
        ("many keys", keys),
        ("brackets", b"[" * (MIB - 10)),
        ("6 MB", b"[" + b"[]," * 2_000_000 + b"0]"),
    ):
        for kind in ("slack_incoming", "json"):
            path = f"/api/v1/external/{kind}?api_key={sender.bot_key}&stream={sender.channel_id}"
            yield _hostile(sender, f"webhook {kind}: {name}", "POST", path, body, as_bot=True)


def _forms(sender: Sender) -> Iterator[Hostile]:
    form = "application/x-www-form-urlencoded"
    for name, body in (
        ("escapes", b"content=" + b"%41" * 340_000),
        ("stray percents", b"content=" + b"%" * 999_000),
        ("pluses", b"content=" + b"+" * 1_000_000),
        ("fields", b"&".join(b"f%d=%s" % (n, b"%41" * 300) for n in range(999))),
        ("8 MB", b"content=" + b"a" * (8 * MIB - 20)),
    ):
        yield _hostile(sender, f"form: {name}", "POST", "/api/v1/messages", body, form)
    part = b'--%s\r\nContent-Disposition: form-data; name="f"\r\n' % BOUNDARY.encode()
    multipart = f"multipart/form-data; boundary={BOUNDARY}"
    for name, body in (
        ("headers", (part + b"X-A: b\r\n" * 1_100 + b"\r\nx\r\n") * 99),
        ("parts", (part + b"\r\nx\r\n") * 100_000),
        ("no parts", b"\r\n--" * 2_000_000),
        ("bare", b"--\r\n" * 2_000_000),
    ):
        kind = "multipart/form-data; boundary=" if name == "bare" else multipart
        yield _hostile(sender, f"multipart: {name}", "POST", "/api/v1/messages", body, kind)
    query = "/api/v1/messages?" + "&".join(f"a{number}=%41" for number in range(6_000))
    yield _hostile(sender, "query: fields", "GET", query)
    escapes = "/api/v1/messages?narrow=" + "%41" * 20_000
    yield _hostile(sender, "query: escapes", "GET", escapes)


def _parameters(sender: Sender) -> Iterator[Hostile]:
    """JSON in forms: at most 1 MiB urlencoded, or as much as a body may be in multipart."""
    values = {
        "ids": "[" + "1," * 4_000_000 + "1]",
        "arrays": "[" + "[]," * 2_600_000 + "0]",
        "objects": "[" + "{}," * 2_600_000 + "0]",
        "keys": "{" + ",".join(f'"{n}":1' for n in range(700_000)) + "}",
        "depth": "[" * 8_000_000,
        "strings": "[" + '"a",' * 1_900_000 + '"a"]',
        "emails": ",".join(f"a{n}@example.com" for n in range(400_000)),
    }
    places: tuple[tuple[str, str, dict[str, str], str], ...] = (
        ("POST", "/api/v1/messages/flags", {"op": "add", "flag": "read"}, "messages"),
        ("POST", "/api/v1/users/me/subscriptions", {}, "subscriptions"),
        ("POST", "/api/v1/users/me/alert_words", {}, "alert_words"),
        ("POST", "/api/v1/register", {}, "narrow"),
        ("POST", "/api/v1/drafts", {}, "drafts"),
        ("POST", "/api/v1/messages", {"type": "direct", "content": "x"}, "to"),
        ("POST", "/api/v1/invites", {"invite_as": "400", "stream_ids": "[]"}, "invitee_emails"),
        ("PATCH", "/api/v1/users/me/profile_data", {}, "data"),
        ("PATCH", "/api/v1/settings", {}, "full_name"),
    )
    for what, value in values.items():
        for method, path, beside, name in places:
            title = f"parameter {name}: {what}"
            for size in (MIB - 1000, *([7 * MIB] if what in LARGE else [])):
                cut = value[: size if what in ("depth", "emails") else size // 2 * 2]
                fields = {**beside, name: _closed(cut)}
                if size < MIB:
                    body = urlencode(fields, safe='[]{},:"@').encode()
                    kind = "application/x-www-form-urlencoded"
                else:
                    body, kind = _multipart(fields)
                yield _hostile(sender, f"{title}, {size >> 20} MiB", method, path, body, kind)


def _closed(value: str) -> str:
    """A cut list or object, made whole."""
    if value.startswith("[["):
        return value
    end = {"[": "]", "{": "}"}.get(value[0], "")
    if not end or (value.endswith(end) and value[-2:-1] not in ("[", "{")):
        return value
    return value[: value.rindex(",")] + end


def _searches(sender: Sender) -> Iterator[Hostile]:
    for name, text in (
        ("words", "ab " * 10_000),
        ("quotes", '"' * 20_000),
        ("CJK", "漢" * 6_000),
        ("marks", "a\u0301" * 6_000),
        ("dashes", "-a" * 10_000),
    ):
        narrow = quote_plus(json.dumps([{"operator": "search", "operand": text}]))
        path = f"/api/v1/messages?anchor=newest&num_before=5&num_after=0&narrow={narrow[:60_000]}"
        yield _hostile(sender, f"search: {name}", "GET", path)
    terms = json.dumps([{"operator": "topic", "operand": str(n)} for n in range(1_400)])
    narrow = quote_plus(terms, safe="[]{}:,")
    path = f"/api/v1/messages?anchor=newest&num_before=5&num_after=0&narrow={narrow[:60_000]}"
    yield _hostile(sender, "search: terms", "GET", path)


def _uploads(sender: Sender) -> Iterator[Hostile]:
    multipart = f"multipart/form-data; boundary={BOUNDARY}"
    head = (
        f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="f"; filename="a.txt"\r\n\r\n'
    ).encode()
    end = f"\r\n--{BOUNDARY}--\r\n".encode()
    for name, body in (
        ("line ends", head + b"\r\n" * (4 * MIB) + end),
        ("almost the boundary", head + b"\r\n-----a" * MIB + end),
        ("parts", (head + b"x\r\n") * 50_000),
    ):
        yield _hostile(sender, f"upload: {name}", "POST", "/api/v1/user_uploads", body, multipart)
    metadata = ",".join(f"k{n} YQ==" for n in range(5_500))
    yield _hostile(
        sender,
        "upload: metadata",
        "POST",
        "/api/v1/tus/",
        headers={"Upload-Metadata": metadata, "Upload-Length": "5", "Tus-Resumable": "1.0.0"},
    )


def _pages(sender: Sender) -> Iterator[Hostile]:
    form = "application/x-www-form-urlencoded"
    for path in ("/accounts/login/", "/register/", "/accounts/password/reset/"):
        for name, body in (
            ("a password", b"username=a@example.com&password=" + b"aA1!" * 250_000),
            ("an address", b"email=" + b"a." * 400_000 + b"@example.com"),
        ):
            yield _hostile(sender, f"page {path}: {name}", "POST", path, body, form, as_bot=True)
    cookie = "; ".join(f"a{n}=b" for n in range(6_000))
    yield _hostile(
        sender, "page: cookies", "GET", "/accounts/login/", headers={"Cookie": cookie}, as_bot=True
    )
    languages = ",".join(f"l{n};q=0.{n}" for n in range(5_000))
    yield _hostile(
        sender,
        "page: languages",
        "GET",
        "/accounts/login/",
        headers={"Accept-Language": languages},
        as_bot=True,
    )
    yield _hostile(
        sender,
        "page: user agent",
        "GET",
        "/api/v1/server_settings",
        headers={"User-Agent": "Zulip" + "Mobile/1." * 6_000},
        as_bot=True,
    )


def _markdown(sender: Sender) -> Iterator[Hostile]:
    form = "application/x-www-form-urlencoded"
    for name, make in PATHOLOGICAL.items():
        body = urlencode({"content": make(10_000)[:10_000]}).encode()
        yield _hostile(sender, f"markdown: {name}", "POST", "/api/v1/messages/render", body, form)


def _multipart(fields: dict[str, str]) -> tuple[bytes, str]:
    parts = [
        f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in fields.items()
    ]
    return "".join([*parts, f"--{BOUNDARY}--\r\n"]).encode(), (
        f"multipart/form-data; boundary={BOUNDARY}"
    )


def _hostile(
    sender: Sender,
    name: str,
    method: str,
    path: str,
    body: bytes = b"",
    content_type: str = "application/json",
    *,
    headers: dict[str, str] | None = None,
    as_bot: bool = False,
) -> Hostile:
    lines = {"Host": sender.host, "Content-Type": content_type, "Content-Length": str(len(body))}
    if not as_bot:
        credentials = base64.b64encode(f"{sender.email}:{sender.api_key}".encode()).decode()
        lines["Authorization"] = f"Basic {credentials}"
    lines |= headers or {}
    head = "".join(f"{key}: {value}\r\n" for key, value in lines.items())
    return Hostile(name, f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + body)
