"""Operations of the API, and random requests for them."""

import re
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Any
from urllib.parse import quote

from benchmarks.api_fuzz.requests import BOUNDARY, SentRequest, encoded, multipart, segment
from benchmarks.api_fuzz.seen_values import SeenValues
from benchmarks.api_fuzz.values import TEXTS, Values
from testkit.images import animation, picture

PREFIX = "/api/v1"
FORM = "application/x-www-form-urlencoded"
Schema = Mapping[str, Any]

FILES = {
    "GET /user_uploads/{realm_id}/{filename}": "url",
    "GET /user_uploads/thumbnail/{filename}": "url",
    "GET /user_avatars/{filename}": "avatar_url",
    "GET /avatar/{user_id}": "user_id",
    "GET /exports/{filename}": "export_url",
}
"""Undescribed paths at the root, with the names by which responses tell of them."""
PLACED = frozenset({"/messages", "/scheduled_messages", "/typing"})
"""Which name a place to write to, by fields that have to go together."""
SOUND: Mapping[str, dict[str, Any]] = {
    "POST /submessage": {
        "msg_type": "widget",
        "content": '{"type":"new_option","idx":1,"option":"c"}',
    },
    "POST /realm/filters": {"url_template": "https://example.com/{id}"},
    "POST /mark_topic_as_read": {"topic_name": "topic"},
    "GET /messages": {"anchor": "newest", "num_before": 5, "num_after": 5},
    "POST /messages/flags/narrow": {"anchor": "oldest", "num_before": 0, "num_after": 9},
    "PATCH /messages/{message_id}": {"topic": "other topic", "propagate_mode": "change_one"},
    "POST /messages/{message_id}/reactions": {"emoji_name": "octopus"},
    "DELETE /messages/{message_id}/reactions": {"emoji_name": "octopus"},
    "POST /drafts": {"drafts": [{"type": "", "to": [], "topic": "", "content": "a draft"}]},
    "POST /realm/profile_fields": {"field_type": 1, "field_data": ""},
    "POST /typing": {"op": "start"},
    "POST /messages/{message_id}/typing": {"op": "start"},
    "PATCH /users/me/subscriptions/{stream_id}": {"property": "is_muted", "value": True},
    "PATCH /channel_folders": {"order": []},
}
"""Values without which next to nothing of it is reached."""
MEANT, NEARLY, NASTY = "meant", "nearly", "nasty"


@dataclass(frozen=True, slots=True, eq=False)
class Operation:
    method: str
    path: str
    in_path: Mapping[str, Schema]
    fields: Mapping[str, Schema]
    required: frozenset[str]
    takes_file: bool = False
    is_described: bool = True


def operations_of(document: Schema) -> list[Operation]:
    """The operations of the document, and those that answer with files."""
    found = [
        _operation(method.upper(), path, operation)
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
    ]
    for name in FILES:
        method, _, path = name.partition(" ")
        found.append(Operation(method, path, {}, {}, frozenset(), is_described=False))
    return found


def _operation(method: str, path: str, operation: Schema) -> Operation:
    in_path: dict[str, Schema] = {}
    fields: dict[str, Schema] = {}
    required = set[str]()
    for each in operation.get("parameters", ()):
        schema = each.get("schema") or each["content"]["application/json"]["schema"]
        (in_path if each["in"] == "path" else fields)[each["name"]] = schema
        if each.get("required") and each["in"] == "query":
            required.add(each["name"])
    content = operation.get("requestBody", {}).get("content", {})
    for each in content.values():
        fields.update(each["schema"]["properties"])
        required.update(each["schema"].get("required", ()))
        required.update(c["anyOf"][0]["required"][0] for c in each["schema"].get("allOf", ()))
    takes_file = fields.pop("file", None) is not None
    return Operation(method, path, in_path, fields, frozenset(required - {"file"}), takes_file)


class RequestGenerator:
    """Makes requests."""

    def __init__(self, random: Random, memory: SeenValues, values: Values) -> None:
        self._random = random
        self._memory = memory
        self._values = values

    def invent(self, operation: Operation, headers: Mapping[str, str]) -> SentRequest:
        """A request for this operation, with these headers of an account."""
        sent = dict(headers)
        if not operation.is_described:
            return SentRequest(
                operation.method, self._root_path(operation), sent | self._conditions()
            )
        [how] = self._random.choices((MEANT, NEARLY, NASTY), (60, 28, 12))
        path = PREFIX + self._path(operation, how)
        if operation.path.startswith("/tus"):
            return self._tus(operation, path, sent)
        fields = self._fields(operation, how)
        if operation.method in {"GET", "HEAD", "DELETE", "OPTIONS"}:
            query = encoded(fields)
            return SentRequest(operation.method, f"{path}?{query}" if query else path, sent)
        body = encoded(fields).encode()
        sent["Content-Type"] = FORM
        if operation.takes_file and self._random.random() < 0.9:
            body = multipart(fields, self._files())
            sent["Content-Type"] = f"multipart/form-data; boundary={BOUNDARY}"
        elif operation.path.startswith("/external"):
            query = encoded(fields)
            body, sent["Content-Type"] = self._payload(), "application/json"
            path = f"{path}?{query}"
        elif how == NASTY and self._random.random() < 0.2:
            sent["Content-Type"] = self._random.choice(
                ("text/plain", "application/json", "multipart/form-data", "", FORM + "; charset=x")
            )
        if operation.path == "/messages" and self._random.random() < 0.1:
            sent["Idempotency-Key"] = self._random.choice(("a", '"b"', "x" * 300, "c"))
        return SentRequest(operation.method, path, sent, body)

    def _path(self, operation: Operation, how: str) -> str:
        chosen = {name: self._one(name, schema, how) for name, schema in operation.in_path.items()}
        url = str(self._memory.any_of(self._random, "url") or "")
        if "filename" in chosen and url.count("/") > 3 and how == MEANT:
            return quote(url, safe="/%")
        return re.sub(r"\{(\w+)\}", lambda found: segment(chosen[found[1]]), operation.path)

    def _one(self, name: str, schema: Schema, how: str) -> Any:
        if how == NASTY and self._random.random() < 0.5:
            return self._values.nasty()
        if how == NEARLY and self._random.random() < 0.2:
            return self._values.nearly(name, schema)
        return self._values.meant(name, schema)

    def _fields(self, operation: Operation, how: str) -> dict[str, Any]:
        random = self._random
        count = min(random.choice((0, 1, 1, 2, 5)), len(operation.fields))
        chosen = random.sample(list(operation.fields), count)
        names = [name for name in operation.fields if name in {*operation.required, *chosen}]
        made = {name: self._values.meant(name, operation.fields[name]) for name in names}
        if operation.path in PLACED and random.random() < 0.8:
            made |= self._values.where()
        if random.random() < 0.8:
            made |= SOUND.get(f"{operation.method} {operation.path}", {})
        if operation.path == "/users" and "email" in made:
            made["email"] = f"new{random.randrange(10**6)}@example.com"
        names = list(made)
        if names and how == NEARLY:
            name = random.choice(names)
            if random.random() < 0.1:
                del made[name]
            else:
                made[name] = self._values.nearly(name, operation.fields.get(name, {}))
        elif how == NASTY:
            for name in random.sample(list(operation.fields), min(2, len(operation.fields))):
                made[name] = self._values.nasty()
            if random.random() < 0.1:
                made[random.choice(TEXTS)] = self._values.nasty()
        if operation.path == "/events":
            made["dont_block"] = True
        return made

    def _files(self) -> list[tuple[str, str, bytes]]:
        names = ("a.png", "a.txt", "", "x" * 300 + ".gif", "..\\..\\a", "a\0b", "é.html", '\\"')
        random = self._random
        count = random.choice((0, 1, 1, 1, 1, 1, 2))
        return [("file", random.choice(names), random.choice(contents())) for _ in range(count)]

    def _payload(self) -> bytes:
        texts = (
            b'{"text": "x"}',
            b'{"blocks": [{"type": "section", "text": {"text": "y"}}]}',
            b"{",
        )
        return self._random.choice((*texts, b"[]", b"null", b'{"attachments": [{}, 1, null]}', b""))

    def _tus(self, operation: Operation, path: str, sent: dict[str, str]) -> SentRequest:
        random = self._random
        nasty = random.choice(("", "-1", "x", "99999999999999999999", "1e3", " 5", "0"))
        sent["Tus-Resumable"] = "1.0.0" if random.random() < 0.95 else nasty
        content = random.choice((b"", b"a", b"bytes", bytes(100_000)))
        sent["Upload-Offset"] = random.choice(("0", "0", "1", "5", nasty))
        sent["Upload-Length"] = random.choice((str(len(content)), "5", "1", nasty))
        name = b64encode(random.choice(TEXTS).encode(errors="surrogatepass")).decode()[:2_000]
        sent["Upload-Metadata"] = random.choice((f"filename {name}", "filename", "x y z", ""))
        if random.random() < 0.9:
            sent["Content-Type"] = "application/offset+octet-stream"
        return SentRequest(
            operation.method, path, sent, b"" if operation.method == "HEAD" else content
        )

    def _root_path(self, operation: Operation) -> str:
        name = FILES[f"{operation.method} {operation.path}"]
        found = self._memory.any_of(self._random, name)
        if name == "user_id":
            return f"/avatar/{segment(found)}" + self._random.choice(("", "/medium", "?version=x"))
        path = re.sub(r"^https?://[^/]*", "", str(found))
        if not path.startswith("/"):
            path = "/user_uploads/2/ab/x"
        if "thumbnail" in operation.path:
            path = path.replace("/user_uploads/", "/user_uploads/thumbnail/") + "/840x560.webp"
        if self._random.random() < 0.2:
            cut = self._random.randrange(1, len(path) + 1)
            path = path[:cut] + segment(self._random.choice(TEXTS)) + path[cut:]
        return re.sub(r"[^!-~]", "", path) or "/"

    def _conditions(self) -> dict[str, str]:
        ranges = ("bytes=0-", "bytes=-5", "bytes=5-2", "bytes=0-0,2-3", "bytes=99999999999-", "x")
        pairs = {
            "Range": self._random.choice(ranges),
            "If-None-Match": '*, "x", W/',
            "If-Range": "x",
        }
        return {name: value for name, value in pairs.items() if self._random.random() < 0.3}


@cache
def contents() -> tuple[bytes, ...]:
    """Contents of uploaded files: pictures, texts, and neither."""
    small = picture()
    return (
        *(small, picture("JPEG", size=(300, 200)), animation(), b"", b"text", bytes(50_000)),
        *(
            small[:40],
            small + b"<script>alert(1)</script>",
            b"GIF89a<script>",
            b"\x89PNG\r\n\x1a\n",
        ),
        *(picture("WEBP"), picture(size=(1, 4_000)), b"%PDF-1.7", b"<svg xmlns='x' onload='y'/>"),
    )
