"""Every endpoint, and the way from a method and path to one."""

import re
from collections.abc import Sequence
from typing import Any, Final

from server.api import (
    alert_words,
    attachments,
    audit_log,
    authentication,
    bots,
    channel_folders,
    channels,
    drafts,
    emoji,
    events,
    groups,
    linkifiers,
    message_changes,
    message_flags,
    messages,
    muted_users,
    narrows,
    navigation_views,
    openapi,
    pictures,
    presence,
    profile_fields,
    push_devices,
    reactions,
    read_receipts,
    realm,
    realm_domains,
    realm_emoji,
    realm_pictures,
    register,
    reminders,
    saved_snippets,
    scheduled_messages,
    server_settings,
    submessages,
    subscriptions,
    topics,
    typing,
    unsubscribing,
    user_settings,
    user_status,
    user_topics,
    users,
    zcommand,
)
from server.api.endpoint import Access, Endpoint
from server.api.forms import percent_decoded
from server.domain.errors import DomainError, MethodNotAllowedError, NotFoundError

_AREAS: Final[tuple[Endpoint[Any], ...]] = (
    *alert_words.ENDPOINTS,
    *attachments.ENDPOINTS,
    *audit_log.ENDPOINTS,
    *authentication.ENDPOINTS,
    *bots.ENDPOINTS,
    *channel_folders.ENDPOINTS,
    *channels.ENDPOINTS,
    *drafts.ENDPOINTS,
    *emoji.ENDPOINTS,
    *events.ENDPOINTS,
    *groups.ENDPOINTS,
    *linkifiers.ENDPOINTS,
    *message_changes.ENDPOINTS,
    *message_flags.ENDPOINTS,
    *messages.ENDPOINTS,
    *narrows.ENDPOINTS,
    *navigation_views.ENDPOINTS,
    *muted_users.ENDPOINTS,
    *presence.ENDPOINTS,
    *push_devices.ENDPOINTS,
    *profile_fields.ENDPOINTS,
    *reactions.ENDPOINTS,
    *read_receipts.ENDPOINTS,
    *pictures.ENDPOINTS,
    *realm.ENDPOINTS,
    *realm_domains.ENDPOINTS,
    *realm_emoji.ENDPOINTS,
    *realm_pictures.ENDPOINTS,
    *register.ENDPOINTS,
    *reminders.ENDPOINTS,
    *saved_snippets.ENDPOINTS,
    *scheduled_messages.ENDPOINTS,
    *server_settings.ENDPOINTS,
    *submessages.ENDPOINTS,
    *subscriptions.ENDPOINTS,
    *topics.ENDPOINTS,
    *typing.ENDPOINTS,
    *unsubscribing.ENDPOINTS,
    *user_topics.ENDPOINTS,
    *user_settings.ENDPOINTS,
    *user_status.ENDPOINTS,
    *users.ENDPOINTS,
    *zcommand.ENDPOINTS,
)
ROUTES: Final = (*_AREAS, openapi.describing(_AREAS))


class RoutesError(Exception):
    """The declarations contradict each other: the server does not start."""


class Router:
    """Finds endpoints. Raises RoutesError at once for duplicates and for what has no access."""

    def __init__(self, routes: Sequence[Endpoint[Any]] = ROUTES) -> None:
        self._fixed: dict[str, dict[str, Endpoint[Any]]] = {}
        self._patterns: list[tuple[re.Pattern[str], str, dict[str, Endpoint[Any]]]] = []
        for endpoint in routes:
            self._add(endpoint)
        # Where a segment may be an integer or text, the integer is tried first.
        self._patterns.sort(key=lambda item: (_openness(item[0].pattern), item[1]))

    def find(self, method: str, path: str) -> tuple[Endpoint[Any], dict[str, str]]:
        """The endpoint and its path parameters, for HEAD those of GET.

        Raises NotFoundError, MethodNotAllowedError, and BadRequestError for a path that is no text.
        """
        by_method = self._fixed.get(path)
        if by_method is not None and method in by_method:
            return by_method[method], {}
        allowed = set(by_method or ())
        for pattern, _, by_method in self._patterns:
            match = pattern.fullmatch(path)
            if match is None:
                continue
            if method in by_method:
                return by_method[method], {
                    name: percent_decoded(value.encode("latin-1"))
                    for name, value in match.groupdict().items()
                }
            allowed.update(by_method)
        if allowed:
            raise MethodNotAllowedError(sorted(allowed))
        raise NotFoundError("Page not found.")

    def takes_file(self, method: str, path: str) -> bool:
        """Whether the body of such a request is to be taken as it comes."""
        try:
            return self.find(method, path)[0].takes_file is not None
        except DomainError:
            return False

    def _add(self, endpoint: Endpoint[Any]) -> None:
        if not isinstance(endpoint.access, Access):
            raise RoutesError(f"{endpoint.method} {endpoint.path} does not say who may call it")
        if "{" not in endpoint.path:
            by_method = self._fixed.setdefault(endpoint.full_path, {})
        else:
            pattern = re.compile(re.sub(r"\{(\w+)\}", _segment, endpoint.full_path))
            by_method = next((m for p, _, m in self._patterns if p == pattern), {})
            if not by_method:
                self._patterns.append((pattern, endpoint.path, by_method))
        if endpoint.method in by_method:
            raise RoutesError(f"{endpoint.method} {endpoint.path} is declared twice")
        by_method[endpoint.method] = endpoint
        if endpoint.method == "GET" and not endpoint.fetches_quietly:
            by_method.setdefault("HEAD", endpoint)


def _openness(pattern: str) -> tuple[int, int]:
    return pattern.count(">.+"), pattern.count("[^/]+")


def _segment(name: re.Match[str]) -> str:
    if name[1] == "filename":
        return "(?P<filename>.+)"
    return f"(?P<{name[1]}>[0-9]+)" if name[1].endswith("_id") else f"(?P<{name[1]}>[^/]+)"
