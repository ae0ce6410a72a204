"""Fetch what exports of Slack lack from its Web API: files, pictures, emoji and addresses."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import urlencode, urljoin

import orjson
from typing_extensions import override

from server.egress import (
    Egress,
    EgressError,
    EgressRefusedError,
    FetchedResponse,
    HostUnreachableError,
    Limits,
    StreamedResponse,
)
from server.egress.client import REDIRECTS
from server.egress.guard import CheckedUrl
from server.i18n import _
from server.imports.downloads import Downloads
from server.imports.errors import FileRefusedError, ImportStoppedError
from server.imports.records import RemoteFile

Value = TypeVar("Value")

API_URL = "https://slack.com/api/"
_API_LIMITS: Final = Limits(
    seconds=60.0, silence_seconds=30.0, max_bytes=32 * 1024 * 1024, keep_alive=True
)
_FILE_LIMITS: Final = Limits(
    seconds=3600.0, silence_seconds=60.0, max_bytes=1024 * 1024 * 1024, keep_alive=True
)
"""Slack takes files of up to 1 GB."""
PAGE: Final = 200
"""Users in a request, as Slack recommends."""
MAX_PAGES: Final = 10_000
MAX_ATTEMPTS: Final = 5
MAX_REDIRECTS: Final = 3
MAX_WAIT_SECONDS: Final = 300.0
MAX_UNREACHABLE: Final = 20
"""Contents in a row that get no answer at all, before the import stops."""
SCOPES: Final = ("users:read", "users:read.email", "emoji:read", "files:read")

_TOO_MANY_REQUESTS: Final = 429
_OK: Final = 200
_SERVER_ERROR: Final = 500
_TOKEN: Final = re.compile(r"[\x21-\x7e]{8,512}")
_HOSTS: Final = ("slack.com",)
"""Domains of servers that get the token."""
_PICTURE_HOSTS: Final = ("slack.com", "slack-edge.com", "gravatar.com", "wp.com")
"""Domains of profile pictures and emoji, which are public."""
_ALIAS: Final = "alias:"


@dataclass(frozen=True, slots=True)
class SlackSupplement:
    """What an export is completed with."""

    has_pictures: bool = False
    """Whether profile pictures are fetched from their public addresses."""
    has_files: bool = False
    team_ids: frozenset[str] = frozenset()
    """The workspace of the token, and its organization."""
    emails: Mapping[str, str] = field(default_factory=dict)
    """Addresses by keys of users."""
    field_names: Mapping[str, str] = field(default_factory=dict)
    """Names of the workspace's own fields of profiles, by their keys."""
    emoji: Mapping[str, str] = field(default_factory=dict)
    """URLs of custom emoji by their names."""
    emoji_aliases: Mapping[str, str] = field(default_factory=dict)
    """Other names of built-in emoji."""
    troubles: tuple[str, ...] = ()
    """What could not be fetched, in words for the report."""


NO_SUPPLEMENT: Final = SlackSupplement()


def token_in(path: Path) -> str:
    """Return the token that a file contains. Raises FileRefusedError."""
    try:
        text = path.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise FileRefusedError(f"{path} cannot be read as a text.") from error
    if not _TOKEN.fullmatch(text):
        raise FileRefusedError(f"{path} contains no token of Slack, or more than a token.")
    return text


def is_on_slack(url: str) -> bool:
    """Return whether it is a file that Slack itself keeps, and not one on another service."""
    return _is_at(url, _HOSTS)


def is_picture_of_slack(url: str) -> bool:
    """Return whether Slack keeps pictures under this address."""
    return _is_at(url, _PICTURE_HOSTS)


def _is_at(url: str, domains: tuple[str, ...]) -> bool:
    """Return whether the URL leads to one of these domains by HTTPS, or to where the API is."""
    try:
        target, api = CheckedUrl.of(url), CheckedUrl.of(API_URL)
    except EgressRefusedError:
        return False
    if (target.scheme, target.authority) == (api.scheme, api.authority):
        return True
    host = target.host.rstrip(".")
    is_named = any(host == domain or host.endswith(f".{domain}") for domain in domains)
    return target.scheme == "https" and target.is_at_usual_port and is_named


class SlackWeb(Downloads):
    """Asks Slack, with a token, which goes to no other host. Without one, only for pictures."""

    def __init__(self, egress: Egress, token: str | None) -> None:
        self._egress = egress
        self._token = token
        self._unreachable = 0

    async def supplement(self) -> SlackSupplement:
        """Fetch what belongs to the people of the workspace.

        Raises FileRefusedError if Slack does not accept the token, or cannot be reached.
        """
        if self._token is None:
            return SlackSupplement(has_pictures=True)
        response, mine = await self._call("auth.test")
        scopes = response.headers.get("x-oauth-scopes")
        lacking = (
            [] if scopes is None else [s for s in SCOPES if s not in re.split(r"[,\s]+", scopes)]
        )
        if lacking:
            raise FileRefusedError(f"The token of Slack lacks the scopes {', '.join(lacking)}.")
        troubles: list[str] = []
        emails = await self._emails(troubles)
        names = await self._field_names(troubles)
        urls, aliases = await self._emoji(troubles)
        teams = (mine.get("team_id"), mine.get("enterprise_id"))
        return SlackSupplement(
            has_pictures=True,
            has_files=True,
            team_ids=frozenset(each for each in teams if isinstance(each, str)),
            emails=emails,
            field_names=names,
            emoji=urls,
            emoji_aliases=aliases,
            troubles=tuple(troubles),
        )

    # -- calls

    async def _emails(self, troubles: list[str]) -> dict[str, str]:
        emails: dict[str, str] = {}
        cursor = ""
        for _page in range(MAX_PAGES):
            more = {"cursor": cursor} if cursor else {}
            page = await self._asked("users.list", troubles, limit=str(PAGE), **more)
            for user in _dicts(page.get("members")):
                profile = user.get("profile")
                email = profile.get("email") if isinstance(profile, dict) else None
                if isinstance(email, str) and isinstance(user.get("id"), str):
                    emails[user["id"]] = email
            metadata = page.get("response_metadata")
            cursor = str(metadata.get("next_cursor") or "") if isinstance(metadata, dict) else ""
            if not cursor:
                break
        return emails

    async def _field_names(self, troubles: list[str]) -> dict[str, str]:
        answer = await self._asked("team.profile.get", troubles)
        profile = answer.get("profile")
        fields = _dicts(profile.get("fields")) if isinstance(profile, dict) else []
        return {
            each["id"]: each["label"]
            for each in fields
            if isinstance(each.get("id"), str) and isinstance(each.get("label"), str)
        }

    async def _emoji(self, troubles: list[str]) -> tuple[dict[str, str], dict[str, str]]:
        """Return URLs by names, aliases of custom emoji included, and aliases of built-in ones."""
        found = (await self._asked("emoji.list", troubles)).get("emoji")
        emoji = found if isinstance(found, dict) else {}
        emoji = {name: value for name, value in emoji.items() if isinstance(value, str)}
        urls: dict[str, str] = {}
        aliases: dict[str, str] = {}
        # In the order of their names: an import that continues has to meet them in the same one.
        for name in sorted(emoji):
            value = emoji[name]
            for _step in range(MAX_REDIRECTS):
                value = emoji.get(value.removeprefix(_ALIAS), value)
            if value.startswith(_ALIAS):
                aliases[name] = value.removeprefix(_ALIAS)
            else:
                urls[name] = value
        return urls, aliases

    async def _asked(self, method: str, troubles: list[str], **arguments: str) -> dict[str, Any]:
        """Return the answer of a call that the import can do without."""
        try:
            return (await self._call(method, **arguments))[1]
        except FileRefusedError as error:
            trouble = _(
                "calls of Slack's {method} failed: {error}", method=method, error=str(error)
            )
            troubles.append(trouble)
            return {}

    async def _call(self, method: str, **arguments: str) -> tuple[FetchedResponse, dict[str, Any]]:
        """Return the answer of the Web API. Raises FileRefusedError."""
        url = urljoin(API_URL, method)
        kind = {"Content-Type": "application/x-www-form-urlencoded"}
        waits = _waits()
        while True:
            try:
                response = await self._egress.fetch(
                    "POST",
                    url,
                    headers=kind | self._authorization(url),
                    body=urlencode(arguments).encode(),
                    limits=_API_LIMITS,
                )
            except EgressError as error:
                if isinstance(error, HostUnreachableError) and await _paused(waits, {}):
                    continue
                raise FileRefusedError(f"Slack cannot be asked: {error.message}") from error
            if not _may_be_repeated(response.status) or not await _paused(waits, response.headers):
                return response, _answer_in(response)

    # -- content

    @override
    async def fetched(
        self, file: RemoteFile, take: Callable[[AsyncIterator[bytes]], Awaitable[Value]]
    ) -> Value:
        url, redirects, waits = file.url, 0, _waits()
        while True:
            headers: Mapping[str, str] = {}
            try:
                async with self._egress.stream(
                    "GET", url, headers=self._authorization(url), limits=_FILE_LIMITS
                ) as response:
                    self._unreachable = 0
                    headers = response.headers
                    location = headers.get("location")
                    if response.status in REDIRECTS and location and redirects < MAX_REDIRECTS:
                        url, redirects = _joined(url, location), redirects + 1
                        continue
                    if not _may_be_repeated(response.status):
                        _check(response, file)
                        return await take(response.pieces)
            except HostUnreachableError as error:
                if not await _paused(waits, headers):
                    self._count_unreachable(error)
                    raise FileRefusedError(error.message) from error
            except EgressError as error:
                raise FileRefusedError(error.message) from error
            else:
                if not await _paused(waits, headers):
                    raise FileRefusedError(_("Slack answers with {status}", status=response.status))

    def _count_unreachable(self, error: HostUnreachableError) -> None:
        self._unreachable += 1
        if self._unreachable >= MAX_UNREACHABLE:
            raise ImportStoppedError(
                "Slack cannot be reached any more: run the same command again later, and the import"
                " continues."
            ) from error

    def _authorization(self, url: str) -> dict[str, str]:
        """Return the header with the token, for a host of Slack only."""
        if self._token is None or not is_on_slack(url):
            return {}
        return {"Authorization": f"Bearer {self._token}"}


def _joined(url: str, location: str) -> str:
    """Return where a redirect leads. Raises FileRefusedError."""
    try:
        return urljoin(url, location)
    except ValueError:
        raise FileRefusedError(_("Slack redirects to what is no URL")) from None


def _check(response: StreamedResponse, file: RemoteFile) -> None:
    """Raise FileRefusedError unless the response is the content."""
    if response.status != _OK:
        raise FileRefusedError(_("Slack answers with {status}", status=response.status))
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "text/html" and file.media_type != "text/html":
        # What it shows to browsers that have not signed in.
        raise FileRefusedError(_("Slack does not give it to this token"))
    size = response.headers.get("content-length", "")
    if file.size is not None and size.isdecimal() and int(size) != file.size:
        raise FileRefusedError(_("it has another size than in the export"))


def _answer_in(response: FetchedResponse) -> dict[str, Any]:
    """Return the answer of a call. Raises FileRefusedError."""
    try:
        answer = orjson.loads(response.body)
    except orjson.JSONDecodeError:
        answer = None
    if response.status != _OK or not isinstance(answer, dict):
        raise FileRefusedError(f"Slack answers with {response.status}, and not as it should.")
    if answer.get("ok") is not True:
        needed = answer.get("needed")
        more = f" ({needed[:100]})" if isinstance(needed, str) else ""
        raise FileRefusedError(f"Slack answers: {str(answer.get('error'))[:100]}{more}.")
    return answer


def _may_be_repeated(status: int) -> bool:
    return status == _TOO_MANY_REQUESTS or status >= _SERVER_ERROR


def _waits() -> Iterator[float]:
    """Return how many seconds to wait before each further attempt."""
    return iter([2.0**n for n in range(MAX_ATTEMPTS - 1)])


async def _paused(waits: Iterator[float], headers: Mapping[str, str]) -> bool:
    """Wait before another attempt, as long as Slack says; return False if there is none."""
    seconds = next(waits, None)
    if seconds is None:
        return False
    said = headers.get("retry-after", "")
    await asyncio.sleep(min(float(said), MAX_WAIT_SECONDS) if said.isdecimal() else seconds)
    return True


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
