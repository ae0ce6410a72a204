"""A server that speaks as much of Slack's Web API as an import asks for, with its files."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

from testkit.services.web_server import Answering, Received, Web, answering, answering_json, web_at

TOKEN = "xoxp-1234-abcdef"
SCOPES = "identify,users:read,users:read.email,emoji:read,files:read"


@dataclass
class SlackApi:
    """`users` come a page of `page_size` at a time; `files` are by their paths."""

    web: Web
    users: list[dict[str, Any]] = field(default_factory=list)
    emoji: dict[str, str] = field(default_factory=dict)
    fields: list[dict[str, Any]] = field(default_factory=list)
    files: dict[str, Answering] = field(default_factory=dict)
    page_size: int = 2
    scopes: str | None = SCOPES
    team_id: str = "T1"
    before: dict[str, list[Answering]] = field(default_factory=dict)
    """What a path answers first, each once."""

    @property
    def url(self) -> str:
        return self.web.url("/api/")

    def requests(self, path: str) -> list[Received]:
        return [each for each in self.web.requests if each.target == path]

    async def answer(self, received: Received, writer: asyncio.StreamWriter) -> None:
        if first := self.before.get(received.target):
            await first.pop(0)(received, writer)
            return
        is_trusted = received.headers.get("authorization") == f"Bearer {TOKEN}"
        if not received.target.startswith("/api/"):
            signed_out = answering(200, "<form>Sign in</form>", content_type="text/html")
            known = self.files.get(received.target, answering(404))
            is_public = received.target.startswith("/public/")
            await (known if is_trusted or is_public else signed_out)(received, writer)
            return
        arguments = {k: v[0] for k, v in parse_qs(received.body.decode()).items()}
        said = self._said(received.target.removeprefix("/api/"), arguments)
        if not is_trusted:
            said = {"ok": False, "error": "invalid_auth"}
        scopes = {} if self.scopes is None else {"X_OAuth_Scopes": self.scopes}
        body = json.dumps(said)
        await answering(200, body, content_type="application/json", **scopes)(received, writer)

    def _said(self, method: str, arguments: dict[str, str]) -> dict[str, Any]:
        if method == "auth.test":
            return {"ok": True, "team_id": self.team_id, "user_id": "U1"}
        if method == "users.list":
            start = int(arguments.get("cursor") or 0)
            end = start + min(self.page_size, int(arguments["limit"]))
            cursor = str(end) if end < len(self.users) else ""
            metadata = {"next_cursor": cursor}
            return {"ok": True, "members": self.users[start:end], "response_metadata": metadata}
        if method == "emoji.list":
            return {"ok": True, "emoji": self.emoji}
        if method == "team.profile.get":
            return {"ok": True, "profile": {"fields": self.fields}}
        return {"ok": False, "error": "unknown_method"}


@asynccontextmanager
async def slack_api() -> AsyncIterator[SlackApi]:
    async with web_at("127.0.0.1") as web:
        api = SlackApi(web)
        web.answers = [api.answer]
        yield api


def slow_down(seconds: int = 0) -> Answering:
    """Slack's answer to too many requests."""
    return answering_json({"ok": False, "error": "ratelimited"}, 429, Retry_After=str(seconds))
