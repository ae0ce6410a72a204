"""Values for parameters: valid, nearly valid, and hostile."""

import json
import string
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from benchmarks.api_fuzz.seen_values import SeenValues
from server.events.catalogue import EVENTS

Schema = Mapping[str, Any]

EVENT_TYPES = sorted({each.kind.partition("/")[0] for each in EVENTS})

TEXT: Schema = {"type": "string"}
INTEGERS = (
    *(0, 1, -1, 2, 10, 100, 2**31 - 1, 2**31, -(2**31) - 1, 2**53, 2**53 + 1),
    *(2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 10**40),
)
TEXTS = (
    *("", " ", "\0", "a\0b", "\t\n\r\x0b\x1f\x7f", "\u200b\u202e\ufeff\U0010ffff", "\u0301" * 50),
    *(
        "x" * 61,
        "x" * 10_001,
        "ä" * 300,
        "😀" * 200,
        "%s %(a)s {} {0} \\ ' \" ; --",
        "../../etc/passwd",
    ),
    *(
        "null",
        "true",
        "1.5",
        "1e999",
        "NaN",
        "-0",
        "0x10",
        '"',
        '"\\u0000"',
        '"\\ud800"',
        "[]",
        "{}",
    ),
    *(
        "[" * 300,
        '{"a":' * 100,
        "<script>alert(1)</script>",
        "javascript:alert(1)",
        "a@b\r\nBcc: c@d",
    ),
    *(
        "(no topic)",
        "general chat",
        "ᴀ",
        "İ",
        "ß",
        "ﬁ",
        "e\u0301",
        "\u212b",
        "\uff11\uff12",
        "a/b",
        "a%2Fb",
        "a?b#c",
    ),
)
DEEP: tuple[Any, ...] = (
    *(None, True, False, 0.5, -1.5, 1e308, [], {}, [[]], [{}], [None], [""], ["\0"], {"": ""}),
    *([0] * 2_000, ["x"] * 1_100, {str(n): n for n in range(300)}, [[[[[[[[1]]]]]]]]),
)
CONTENTS = (
    *(
        "hello",
        "**bold** _it_ `code` ~~no~~",
        "```python\nprint(1)\n```",
        "$$x^2$$",
        "$$\\frac{a}$$",
    ),
    *("/poll What?\na\nb", "/todo List\na: b", "@**all**", "@_**Person|1**", "#**general>topic**"),
    *("https://example.com/a.png", "> quoted\n\n1. one\n2. two", "| a | b |\n|--|--|\n| 1 | 2 |"),
    *("||| spoiler", "```spoiler head\nbody\n```", "<time:2026-01-01T00:00:00Z>", ":smile: :nope:"),
    *("/me waves", "\\" * 200, "*" * 500, "[" * 500, "a" * 9_999, "😀" * 2_000, "\n" * 1_000 + "x"),
)
OPERATORS = {
    "channel": "name",
    "stream": "stream_id",
    "topic": "topic",
    "sender": "email",
    "dm": "email",
    "dm-including": "user_id",
    "group-pm-with": "email",
    "id": "message_id",
    "near": "message_id",
    "with": "message_id",
    "mentions": "user_id",
}
FIXED_OPERANDS = {
    "is": ("dm", "starred", "mentioned", "alerted", "unread", "followed", "resolved", "muted", "x"),
    "has": ("link", "image", "attachment", "reaction", "x"),
    "in": ("home", "all"),
    "channels": ("public", "web-public", "archived"),
    "search": ("hello", '"a phrase"', "a OR b", "'; --", "* % _", ""),
}
ENUMS: dict[str, tuple[Any, ...]] = {
    "type": ("channel", "stream", "direct", "private"),
    "op": ("add", "remove", "start", "stop"),
    "flag": ("read", "starred", "collapsed", "mentioned"),
    "anchor": ("newest", "oldest", "first_unread", "date", 0, 10**17),
    "emoji_name": ("smile", "octopus", "thumbs_up", "zulip", "nope"),
    "emoji_code": ("1f642", "1f419", "zulip", "1"),
    "reaction_type": ("unicode_emoji", "realm_emoji", "zulip_extra_emoji"),
    "status": ("active", "idle"),
    "topic": ("topic", "other topic", "", "✔ done"),
    "password": ("correct horse battery staple", "x"),
    "field_type": (1, 2, 3, 4, 5, 6, 7, 8),
    "field_data": ("", '{"0":{"text":"a","order":"1"}}', '{"subtype":"github"}', "{"),
    "report_type": ("spam", "other", "x"),
    "visibility_policy": (0, 1, 2, 3),
    "propagate_mode": ("change_one", "change_later", "change_all"),
    "status_text": ("away", ""),
    "email": ("new@example.com", "x"),
    "invitee_emails": ("a1@example.com", "a2@example.com, a3@example.com\na4@example.com"),
    "domain": ("example.com", "example.org"),
    "pattern": ("#(?P<id>[0-9]+)", "(?P<x>a+)+$", "(", "a" * 300),
    "url_template": ("https://example.com/{id}", "https://example.com/{code}", "{", "x"),
    "pygments_language": ("Python", "none"),
    "payload_url": ("https://bots.example.com/x", "http://127.0.0.1/x"),
    "role": (100, 200, 300, 400, 600),
    "property": (
        "color",
        "is_muted",
        "pin_to_top",
        "push_notifications",
        "wildcard_mentions_notify",
    ),
    "value": ("#c2c2c2", True, False),
    "scopes": (["read"], ["messages"], ["everything"], []),
    "data": ([{"id": 1, "value": "x"}], [1], []),
    "msg_type": ("widget",),
    "command": ("/ping", "/day", "/fixed-width", "nope"),
    "token": ("ab" * 32, "x"),
    "appid": ("com.example.app",),
    "timezone": ("Europe/Berlin", "UTC", "Nowhere"),
    "default_language": ("en", "de", "xx"),
    "last_event_id": (-1, 0, 1),
    "draft": ({"type": "", "to": [], "topic": "", "content": "draft"},),
    "name": ("general", "another", "a name"),
    "fragment": ("inbox", "recent", "narrow/is/starred"),
}
REMEMBERED = 0.8
"""How often something is taken from an earlier response, where there is one."""


class Values:
    """Makes values, and remembers."""

    def __init__(self, random: Random, memory: SeenValues, document: Schema) -> None:
        self._random = random
        self._memory = memory
        self._document = document
        self._special: dict[str, Callable[[], Any]] = {
            "narrow": self._narrow,
            "content": self._content,
            "to": self._to,
            "event_types": self._event_types,
            "fetch_event_types": self._event_types,
            "scheduled_delivery_timestamp": lambda: 2_000_000_000 + random.randrange(10**6),
            "full_name": lambda: self._new("Person {}"),
            "short_name": lambda: self._new("bot{}"),
            "pattern": lambda: self._new("#{}-(?P<id>[0-9]+)"),
            "group_name": lambda: self._new("Group {}"),
        }
        self._count = 0

    def meant(self, name: str, schema: Schema, depth: int = 0) -> Any:  # noqa: PLR0911 - cases
        """A value of the kind that the parameter takes."""
        if name in self._special and self._random.random() < REMEMBERED:
            return self._special[name]()
        schema = self._resolved(schema)
        kind = self._kind(schema)
        if kind in {"integer", "string"} and (found := self._remembered(name, kind)) is not None:
            return found
        if name in ENUMS and self._random.random() < REMEMBERED:
            return self._random.choice(ENUMS[name])
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return self._random.choice(schema["enum"])
        options = schema.get("anyOf") or schema.get("oneOf")
        if options:
            return self.meant(name, self._random.choice(options), depth)
        return self._made(name, kind, schema, depth)

    def nearly(self, name: str, schema: Schema) -> Any:  # noqa: PLR0911 - the same
        """Such a value with one thing wrong with it."""
        value = self.meant(name, schema)
        change = self._random.randrange(7)
        if isinstance(value, bool) or value is None:
            return self._random.choice((str(value), 2, [value]))
        if isinstance(value, int):
            near = (value + 1, value - 1, -value, str(value), [value], value + 0.5)
            return self._memory.any_id(self._random) if change == 6 else near[change]
        if isinstance(value, str):
            nasty = self._random.choice(TEXTS)
            return (value[:-1], value.upper(), value + " ", value + nasty, value * 40, [value], 7)[
                change
            ]
        if isinstance(value, list):
            wrong = self.nasty()
            return ([*value, wrong], value * 50, value[:-1], [wrong], value, [value], {"0": value})[
                change
            ]
        if isinstance(value, dict) and value:
            key = self._random.choice(sorted(value))
            if change == 0:
                return {each: inner for each, inner in value.items() if each != key}
            return {**value, key: self.nasty(), **({"unknown": 1} if change == 1 else {})}
        return value

    def where(self) -> dict[str, Any]:
        """A place to which messages go, whole."""
        if self._random.random() < 0.7:
            channel = self._memory.any_of(self._random, "stream_id")
            return {"type": "channel", "to": channel, "topic": self.meant("topic", TEXT)}
        people = [self._memory.any_of(self._random, "user_id") for _ in range(2)]
        return {"type": "direct", "to": people}

    def _new(self, text: str) -> str:
        self._count += 1
        return text.format(self._count)

    def nasty(self) -> Any:
        """A value that no client should send."""
        return self._random.choice(self._random.choice((INTEGERS, TEXTS, DEEP)))

    def _resolved(self, schema: Schema) -> Schema:
        while "$ref" in schema:
            found: Any = self._document
            for part in schema["$ref"].removeprefix("#/").split("/"):
                found = found[part]
            schema = found
        return schema

    def _kind(self, schema: Schema) -> str:
        kind = schema.get("type", "")
        return self._random.choice(kind) if isinstance(kind, list) else str(kind)

    def _remembered(self, name: str, kind: str) -> Any:
        if self._random.random() > REMEMBERED:
            return None
        found = self._memory.any_of(self._random, name)
        if kind == "string" and isinstance(found, int):
            return str(found)
        return found if found is None or isinstance(found, str) == (kind == "string") else None

    def _made(self, name: str, kind: str, schema: Schema, depth: int) -> Any:  # noqa: PLR0911 - the same
        random = self._random
        match kind:
            case "integer":
                low, high = schema.get("minimum", -2), schema.get("maximum", 1_000)
                return random.choice(
                    (low, high, random.randint(low, max(low, min(high, low + 99))))
                )
            case "number":
                return random.choice((0.5, 1, -1.5, 1e9))
            case "boolean":
                return random.random() < 0.5
            case "string":
                size = random.randint(
                    schema.get("minLength", 0), min(schema.get("maxLength", 20), 60)
                )
                return "".join(random.choices(string.ascii_letters + " -_.ä", k=size))
            case "null":
                return None
            case "array":
                return self._array(name, schema, depth)
            case "object":
                return self._object(schema, depth)
        return self.nasty()

    def _array(self, name: str, schema: Schema, depth: int) -> list[Any]:
        least = schema.get("minItems", 0)
        count = self._random.randint(least, max(least, 3 if depth < 3 else 1))
        if "prefixItems" in schema:
            return [self.meant(name, each, depth + 1) for each in schema["prefixItems"]]
        return [self.meant(name, schema.get("items", {}), depth + 1) for _ in range(count)]

    def _object(self, schema: Schema, depth: int) -> dict[str, Any]:
        needed = schema.get("required", ())
        made = {
            name: self.meant(name, inner, depth + 1)
            for name, inner in schema.get("properties", {}).items()
            if name in needed or self._random.random() < 0.5
        }
        others = schema.get("additionalProperties")
        if isinstance(others, dict) and not made:
            made["a"] = self.meant("a", others, depth + 1)
        return made

    def _narrow(self) -> list[Any]:
        return [self._term() for _ in range(self._random.randrange(4))]

    def _term(self) -> Any:
        random = self._random
        operator = random.choice([*OPERATORS, *FIXED_OPERANDS])
        operand: Any = (
            random.choice(FIXED_OPERANDS[operator])
            if operator in FIXED_OPERANDS
            else self._memory.any_of(random, OPERATORS[operator])
        )
        if random.random() < 0.05:
            operand = self.nasty()
        if random.random() < 0.1:
            return [operator, operand]
        return {"operator": operator, "operand": operand, "negated": random.random() < 0.2}

    def _content(self) -> str:
        random = self._random
        pieces = [random.choice(CONTENTS) for _ in range(random.randint(1, 2))]
        for name, text in (("url", "[file]({})"), ("full_name", "@**{}**"), ("name", "#**{}**")):
            found = self._memory.any_of(random, name)
            if found is not None and random.random() < 0.3:
                pieces.append(text.format(found))
        return "\n".join(pieces)[:9_999]

    def _to(self) -> Any:
        random, memory = self._random, self._memory
        people = [memory.any_of(random, "user_id") for _ in range(random.randint(1, 3))]
        where = memory.any_of(random, "stream_id"), memory.any_of(random, "name")
        return random.choice((*where, people, memory.any_of(random, "email"), json.dumps(people)))

    def _event_types(self) -> list[str]:
        return self._random.sample(EVENT_TYPES, self._random.randint(0, 4))
