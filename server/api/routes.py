"""Routing: every endpoint, by method and path."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final, Generic, Protocol, TypeVar

from server.api import (
    account_exports,
    alert_words,
    api_keys,
    attachments,
    audit_log,
    authentication,
    avatars,
    bot_storage,
    bots,
    bulk_messages,
    calls,
    channel_folders,
    channels,
    client_devices,
    compliance_cases,
    compliance_officers,
    default_channel_groups,
    drafts,
    emoji,
    events,
    external,
    external_content,
    groups,
    imports,
    integrations,
    invitations,
    legal_holds,
    linkifiers,
    message_buttons,
    message_changes,
    message_flags,
    messages,
    muted_users,
    narrows,
    navigation_views,
    onboarding_steps,
    openapi,
    pictures,
    pins,
    presence,
    profile_fields,
    push_devices,
    reactions,
    read_receipts,
    realm,
    realm_activation,
    realm_domains,
    realm_emoji,
    realm_exports,
    realm_pictures,
    register,
    reminders,
    retention_preview,
    saved_snippets,
    scheduled_messages,
    scim,
    scim_tokens,
    second_factor_resets,
    server_settings,
    slash_commands,
    submessages,
    subscriptions,
    thumbnails,
    topic_descriptions,
    topics,
    tus,
    typing,
    unconfirmed_addresses,
    unsubscribing,
    user_settings,
    user_status,
    user_topics,
    users,
    web_push,
    webhook_deliveries,
    webhook_secrets,
    zcommand,
)
from server.api.endpoint import Access, Endpoint
from server.api.forms import percent_decoded
from server.domain.errors import MethodNotAllowedError, NotFoundError
from server.i18n import _

_AREAS: Final[tuple[Endpoint[Any], ...]] = (
    *account_exports.ENDPOINTS,
    *alert_words.ENDPOINTS,
    *api_keys.ENDPOINTS,
    *attachments.ENDPOINTS,
    *audit_log.ENDPOINTS,
    *authentication.ENDPOINTS,
    *avatars.ENDPOINTS,
    *bot_storage.ENDPOINTS,
    *bots.ENDPOINTS,
    *bulk_messages.ENDPOINTS,
    *calls.ENDPOINTS,
    *channel_folders.ENDPOINTS,
    *channels.ENDPOINTS,
    *compliance_cases.ENDPOINTS,
    *compliance_officers.ENDPOINTS,
    *default_channel_groups.ENDPOINTS,
    *drafts.ENDPOINTS,
    *emoji.ENDPOINTS,
    *events.ENDPOINTS,
    *external.ENDPOINTS,
    *external_content.ENDPOINTS,
    *groups.ENDPOINTS,
    *imports.ENDPOINTS,
    *integrations.ENDPOINTS,
    *invitations.ENDPOINTS,
    *legal_holds.ENDPOINTS,
    *linkifiers.ENDPOINTS,
    *message_changes.ENDPOINTS,
    *message_flags.ENDPOINTS,
    *messages.ENDPOINTS,
    *narrows.ENDPOINTS,
    *navigation_views.ENDPOINTS,
    *onboarding_steps.ENDPOINTS,
    *muted_users.ENDPOINTS,
    *presence.ENDPOINTS,
    *push_devices.ENDPOINTS,
    *client_devices.ENDPOINTS,
    *profile_fields.ENDPOINTS,
    *reactions.ENDPOINTS,
    *read_receipts.ENDPOINTS,
    *pictures.ENDPOINTS,
    *realm.ENDPOINTS,
    *realm_activation.ENDPOINTS,
    *realm_domains.ENDPOINTS,
    *realm_emoji.ENDPOINTS,
    *realm_exports.ENDPOINTS,
    *realm_pictures.ENDPOINTS,
    *register.ENDPOINTS,
    *reminders.ENDPOINTS,
    *retention_preview.ENDPOINTS,
    *saved_snippets.ENDPOINTS,
    *scheduled_messages.ENDPOINTS,
    *scim.ENDPOINTS,
    *scim_tokens.ENDPOINTS,
    *second_factor_resets.ENDPOINTS,
    *server_settings.ENDPOINTS,
    *message_buttons.ENDPOINTS,
    *pins.ENDPOINTS,
    *slash_commands.ENDPOINTS,
    *submessages.ENDPOINTS,
    *subscriptions.ENDPOINTS,
    *thumbnails.ENDPOINTS,
    *topic_descriptions.ENDPOINTS,
    *topics.ENDPOINTS,
    *tus.ENDPOINTS,
    *typing.ENDPOINTS,
    *unconfirmed_addresses.ENDPOINTS,
    *unsubscribing.ENDPOINTS,
    *user_topics.ENDPOINTS,
    *user_settings.ENDPOINTS,
    *user_status.ENDPOINTS,
    *users.ENDPOINTS,
    *web_push.ENDPOINTS,
    *webhook_deliveries.ENDPOINTS,
    *webhook_secrets.ENDPOINTS,
    *zcommand.ENDPOINTS,
)
ROUTES: Final = (*_AREAS, openapi.describing(_AREAS))


class RoutesError(Exception):
    """The declarations contradict each other: the server does not start."""


class Route(Protocol):
    """An endpoint, or a page."""

    @property
    def method(self) -> str: ...

    @property
    def path(self) -> str: ...

    @property
    def full_path(self) -> str: ...

    @property
    def access(self) -> Access: ...

    @property
    def has_head(self) -> bool: ...


RouteT = TypeVar("RouteT", bound=Route)


class Router(Generic[RouteT]):
    """Finds endpoints. Raises RoutesError at once for duplicates and for a missing access level."""

    def __init__(self, routes: Sequence[RouteT]) -> None:
        self._fixed: dict[str, dict[str, RouteT]] = {}
        self._patterns: list[tuple[re.Pattern[str], str, dict[str, RouteT]]] = []
        for endpoint in routes:
            self._add(endpoint)
        # If a segment may be an integer or text, the integer is tried first.
        self._patterns.sort(key=lambda item: (_openness(item[0].pattern), item[1]))
        self._by_head: dict[str, list[int]] = {}
        for number, (_pattern, declared, _methods) in enumerate(self._patterns):
            self._by_head.setdefault(_head(declared), []).append(number)

    def find(self, method: str, path: str) -> tuple[RouteT, dict[str, str]]:
        """Return the endpoint and its path parameters, for HEAD those of GET.

        Raises NotFoundError, MethodNotAllowedError, and BadRequestError for a path that is not
        valid text.
        """
        by_method = self._fixed.get(path)
        if by_method is not None and method in by_method:
            return by_method[method], {}
        allowed = set(by_method or ())
        for match, by_method in self._matches(path):
            if method in by_method:
                return by_method[method], {
                    name: percent_decoded(value.encode("latin-1"))
                    for name, value in match.groupdict().items()
                }
            allowed.update(by_method)
        if allowed:
            raise MethodNotAllowedError(sorted(allowed))
        raise NotFoundError(_("Page not found."))

    def knows(self, path: str) -> bool:
        """Return whether there is an endpoint at this path, for any method."""
        return path in self._fixed or any(True for _match in self._matches(path))

    def _matches(self, path: str) -> Iterator[tuple[re.Match[str], dict[str, RouteT]]]:
        """Yield the matches, the most specific first.

        Only patterns with the path's prefix are tried.
        """
        numbers: list[int] = []
        end = path.find("/") + 1
        while end:
            numbers += self._by_head.get(path[:end], ())
            end = path.find("/", end) + 1
        for pattern, _declared, by_method in (self._patterns[number] for number in sorted(numbers)):
            match = pattern.fullmatch(path)
            if match is not None:
                yield match, by_method

    def _add(self, endpoint: RouteT) -> None:
        if not isinstance(endpoint.access, Access):
            raise RoutesError(f"{endpoint.method} {endpoint.path} does not say who may call it")
        if "{" not in endpoint.path:
            by_method = self._fixed.setdefault(endpoint.full_path, {})
        else:
            pattern = re.compile(re.sub(r"\{(\w+)\}", _segment, endpoint.full_path))
            by_method = next((m for p, _declared, m in self._patterns if p == pattern), {})
            if not by_method:
                self._patterns.append((pattern, endpoint.full_path, by_method))
        if endpoint.method in by_method:
            raise RoutesError(f"{endpoint.method} {endpoint.path} is declared twice")
        by_method[endpoint.method] = endpoint
        if endpoint.method == "GET" and endpoint.has_head:
            by_method.setdefault("HEAD", endpoint)


def _head(path: str) -> str:
    """Return the path up to the segment of the first parameter."""
    return path[: path.rindex("/", 0, path.index("{")) + 1]


def _openness(pattern: str) -> tuple[int, int]:
    return pattern.count(">.+"), pattern.count("[^/]+")


def _segment(name: re.Match[str]) -> str:
    if name[1] == "filename":
        return "(?P<filename>.+)"
    return f"(?P<{name[1]}>[0-9]+)" if name[1].endswith("_id") else f"(?P<{name[1]}>[^/]+)"
