"""A visitor of the pages without a window: cookies, links and forms, as a browser has."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import unescape
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urlencode

import pytest
import pytest_asyncio
from typing_extensions import override

from server.domain.passwords import Passwords
from storage.users import UserRow
from testkit.clients.api import Answer, Client
from testkit.factories import Make

FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@dataclass
class Form:
    action: str
    fields: dict[str, str] = field(default_factory=dict)


class _Forms(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[Form] = []

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        facts = dict(attrs)
        if tag == "form" and facts.get("method") == "post":
            self.found.append(Form(facts.get("action") or ""))
        elif tag == "input" and self.found and (name := facts.get("name")):
            is_on = facts.get("type") != "checkbox" or "checked" in facts
            self.found[-1].fields |= {name: facts.get("value") or ""} if is_on else {}


@dataclass
class Visitor:
    """`await visitor.look("/login/")`, then `await visitor.submit("/login/", password="...")`."""

    client: Client
    cookies: dict[str, str] = field(default_factory=dict)
    page: str = ""
    """The last page shown."""

    async def look(self, path: str, /, *, headers: Mapping[str, str] | None = None) -> Answer:
        return await self.send("GET", path, headers=headers)

    async def submit(self, action: str, /, **fields: str) -> Answer:
        """Send the form of the page with this action, filled in like this."""
        form = next((form for form in self.forms() if form.action == action), None)
        assert form is not None, f"no form leads to {action}: {self.text}"
        return await self.post(action, **form.fields | fields)

    async def post(self, path: str, /, **fields: str) -> Answer:
        return await self.send("POST", path, body=urlencode(fields).encode(), headers=FORM)

    async def send_form(
        self, path: str, fields: Mapping[str, str], *, headers: Mapping[str, str]
    ) -> Answer:
        """Send it as `post` does, with headers of its own."""
        body = urlencode(fields).encode()
        return await self.send("POST", path, body=body, headers={**FORM, **headers})

    async def send(
        self, method: str, path: str, *, headers: Mapping[str, str] | None = None, **rest: Any
    ) -> Answer:
        """Send it with the cookies, and keep those of the answer."""
        cookies = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        own = {"Cookie": cookies, "Accept": "text/html"} if cookies else {"Accept": "text/html"}
        answer = await self.client.send(
            method, path, prefix="", headers={**own, **(headers or {})}, **rest
        )
        for line in answer.headers.get_list("Set-Cookie"):
            name, _, value = line.partition(";")[0].partition("=")
            if "Max-Age=0" in line:
                self.cookies.pop(name, None)
            else:
                self.cookies[name] = value
        if answer.headers.get("Content-Type", "").startswith("text/html"):
            self.page = answer.content.decode()
        return answer

    async def follow(self, answer: Answer) -> Answer:
        """Go where the answer leads."""
        assert answer.status == 303, (answer.status, self.text)
        return await self.look(answer.headers["Location"])

    async def sign_in(self, email: str, password: str, *, then: str = "/") -> None:
        """Sign in by the form, and see the place that one wanted."""
        await self.look("/login/" if then == "/" else f"/login/?{urlencode({'next': then})}")
        answer = await self.submit("/login/", username=email, password=password)
        assert (answer.status, answer.headers.get("Location")) == (303, then), self.text

    def forms(self) -> list[Form]:
        parser = _Forms()
        parser.feed(self.page)
        return parser.found

    @property
    def text(self) -> str:
        """The page's text, as a reader sees it."""
        return " ".join(unescape(re.sub(r"<[^>]*>", " ", self.page)).split())

    @property
    def problem(self) -> str:
        """The page's error message; empty if there is none."""
        found = re.search(r'role="alert"[^>]*>(.*?)</p>', self.page, re.DOTALL)
        return unescape(found[1]).strip() if found else ""


PASSWORD = "correct horse battery"


_hashes: dict[str, str] = {}
"""Hashes of the tests' passwords. A hash costs more than most of what a test does."""


async def _hash_of(password: str) -> str:
    if password not in _hashes:
        with Passwords(1) as passwords:
            _hashes[password] = await passwords.hash(password)
    return _hashes[password]


async def give_password(make: Make, user: UserRow, password: str = PASSWORD) -> None:
    """Give the user this password."""
    await make.connection.execute(
        "UPDATE users SET password_hash = %(hash)s WHERE user_id = %(user_id)s",
        hash=await _hash_of(password),
        user_id=user.user_id,
    )


@pytest_asyncio.fixture
async def ada(make: Make) -> UserRow:
    """A user with a password."""
    ada = await make.user("Ada Lovelace", email="ada@example.com")
    await give_password(make, ada)
    return ada


@pytest.fixture
def visitor(spectator: Any) -> Any:
    """`await visitor()`: a new visitor, at the organization's address."""

    async def visitor() -> Visitor:
        return Visitor(await spectator())

    return visitor
