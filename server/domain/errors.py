"""What can be wrong with a request, by kind: code on the wire, status, details.

DomainError
 ├─ BadRequestError ........ 400 BAD_REQUEST, the default for whatever is refused
 │   ├─ MissingParameterError, InvalidParameterError, InvalidJsonError
 │   ├─ ChannelDoesNotExistError, BadNarrowError, BadEventQueueError
 │   └─ ...
 ├─ UnauthorizedError ...... 401
 ├─ RateLimitedError ....... 429
 └─ ...
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from typing_extensions import override

from server.i18n import _, ngettext


class DomainError(Exception):
    """A refused request: a message for people, a stable code, and details by name."""

    code: ClassVar[str] = "BAD_REQUEST"
    status: ClassVar[int] = 400

    def __init__(self, message: str, **details: Any) -> None:
        super().__init__(message)
        self.message = message
        self.details = details

    @property
    def headers(self) -> dict[str, str]:
        """Headers of the error response."""
        return {}


class BadRequestError(DomainError):
    """Invalid input, or a missing permission."""


class MissingParameterError(DomainError):
    code = "REQUEST_VARIABLE_MISSING"

    def __init__(self, name: str) -> None:
        super().__init__(f"Missing '{name}' argument", var_name=name)


class InvalidParameterError(DomainError):
    code = "REQUEST_VARIABLE_INVALID"

    def __init__(self, name: str, message: str) -> None:
        super().__init__(message, var_name=name)


class ConfusingParametersError(DomainError):
    code = "REQUEST_CONFUSING_VAR"

    def __init__(self, one: str, other: str) -> None:
        super().__init__(
            f"Can't decide between '{one}' and '{other}' arguments", var_name1=one, var_name2=other
        )


class InvalidJsonError(DomainError):
    code = "INVALID_JSON"


class UnauthorizedError(DomainError):
    """Missing or invalid credentials."""

    code = "UNAUTHORIZED"
    status = 401

    @property
    @override
    def headers(self) -> dict[str, str]:
        return {"WWW-Authenticate": 'Basic realm="zulip"'}


class SessionEndedError(UnauthorizedError):
    """The session has ended; the response makes no browser prompt for a password."""

    @property
    @override
    def headers(self) -> dict[str, str]:
        return {"WWW-Authenticate": 'Session realm="zulip"'}


class InvitationFailedError(DomainError):
    """Some of the addresses, or all, were not invited."""

    code = "INVITATION_FAILED"

    def __init__(
        self,
        message: str,
        errors: Sequence[tuple[str, str, bool]] = (),
        *,
        sent_invitations: bool = False,
        daily_limit_reached: bool = False,
    ) -> None:
        super().__init__(
            message,
            errors=[list(each) for each in errors],
            sent_invitations=sent_invitations,
            daily_limit_reached=daily_limit_reached,
            license_limit_reached=False,
        )


class InvalidApiKeyError(DomainError):
    code = "INVALID_API_KEY"
    status = 401


class AuthenticationFailedError(DomainError):
    code = "AUTHENTICATION_FAILED"
    status = 401


class WrongCredentialsError(AuthenticationFailedError):
    """The name or the password is wrong; which one is not told."""

    def __init__(self) -> None:
        super().__init__(_("Your username or password is incorrect"))


class InvalidTokenError(BadRequestError):
    """A signed token is malformed, expired, or signed by another key."""


class WrongPasswordError(BadRequestError):
    """The password for re-authentication is wrong."""


class PasswordAuthDisabledError(DomainError):
    code = "PASSWORD_AUTH_DISABLED"
    status = 401


class CannotDeactivateLastUserError(DomainError):
    """No user, or no owner, would be left."""

    code = "CANNOT_DEACTIVATE_LAST_USER"

    def __init__(self, *, entity: str, is_last_owner: bool) -> None:
        message = _("Cannot deactivate the only {entity}.", entity=entity)
        super().__init__(message, entity=entity, is_last_owner=is_last_owner)


class UserDeactivatedError(DomainError):
    code = "USER_DEACTIVATED"
    status = 401


class RealmDeactivatedError(DomainError):
    code = "REALM_DEACTIVATED"
    status = 401


class WebhookPayloadError(DomainError):
    """The payload of an incoming webhook cannot be converted."""

    code = "ANOMALOUS_WEBHOOK_PAYLOAD"

    def __init__(self, message: str, webhook_name: str) -> None:
        super().__init__(message, webhook_name=webhook_name)


class InvalidWebhookSignatureError(DomainError):
    """A delivery to a bot with a secret is unsigned, wrongly signed, or too old."""

    code = "INVALID_WEBHOOK_SIGNATURE"
    status = 401

    def __init__(self, message: str, webhook_name: str) -> None:
        super().__init__(message, webhook_name=webhook_name)


class CsrfFailedError(DomainError):
    """The request may have been caused by another site."""

    code = "CSRF_FAILED"
    status = 403


class NonexistentSubdomainError(DomainError):
    code = "NONEXISTENT_SUBDOMAIN"
    status = 404


class NotFoundError(DomainError):
    status = 404


class MethodNotAllowedError(DomainError):
    status = 405

    def __init__(self, allowed: list[str]) -> None:
        super().__init__("Method Not Allowed", allowed_methods=allowed)

    @property
    @override
    def headers(self) -> dict[str, str]:
        return {"Allow": ", ".join(self.details["allowed_methods"])}


class BodyTooLargeError(DomainError):
    status = 413


class RateLimitedError(DomainError):
    code = "RATE_LIMIT_HIT"
    status = 429

    def __init__(self, retry_after: float) -> None:
        super().__init__(_("API usage exceeded rate limit"), **{"retry-after": retry_after})

    @property
    @override
    def headers(self) -> dict[str, str]:
        return {"Retry-After": str(int(self.details["retry-after"]) + 1)}


class ServerNotReadyError(DomainError):
    """The database is unavailable, or its disk is full: a retry may succeed in a moment."""

    code = "SERVER_NOT_READY"
    status = 503

    @property
    @override
    def headers(self) -> dict[str, str]:
        return {"Retry-After": "1"}


class FilesNotReadyError(DomainError):
    """The blob store is unavailable: a retry may succeed later."""

    code = "FILES_NOT_READY"
    status = 503

    @property
    @override
    def headers(self) -> dict[str, str]:
        return {"Retry-After": "10"}


class PicturesNotReadyError(DomainError):
    """Too many external pictures are being fetched: a retry may succeed later."""

    code = "PICTURES_NOT_READY"
    status = 503

    @property
    @override
    def headers(self) -> dict[str, str]:
        return {"Retry-After": "10"}


class BadEventQueueError(DomainError):
    """The queue is gone. Some clients match the beginning of the message, case-sensitively."""

    code = "BAD_EVENT_QUEUE_ID"

    def __init__(self, queue_id: str) -> None:
        super().__init__(f"Bad event queue id: {queue_id}", queue_id=queue_id)


class BadNarrowError(DomainError):
    code = "BAD_NARROW"

    def __init__(self, description: str) -> None:
        super().__init__(f"Invalid narrow operator: {description}", desc=description)


class ChannelDoesNotExistError(DomainError):
    """The channel does not exist, or the user has no access to its metadata."""

    code = "STREAM_DOES_NOT_EXIST"

    @classmethod
    def named(cls, name: str) -> "ChannelDoesNotExistError":
        return cls(_("Channel '{name}' does not exist", name=name), stream=name)

    @classmethod
    def with_id(cls, channel_id: int) -> "ChannelDoesNotExistError":
        return cls(_("Channel with ID '{id}' does not exist", id=channel_id), stream_id=channel_id)


class ChannelAlreadyExistsError(DomainError):
    """A channel with this name exists."""

    code = "CHANNEL_ALREADY_EXISTS"
    status = 409

    def __init__(self, name: str) -> None:
        super().__init__(_("Channel '{name}' already exists", name=name), channel_name=name)


class ChannelWildcardNotAllowedError(DomainError):
    code = "STREAM_WILDCARD_MENTION_NOT_ALLOWED"


class TopicWildcardNotAllowedError(DomainError):
    code = "TOPIC_WILDCARD_MENTION_NOT_ALLOWED"


class ReactionAlreadyExistsError(DomainError):
    code = "REACTION_ALREADY_EXISTS"


class ReactionDoesNotExistError(DomainError):
    code = "REACTION_DOES_NOT_EXIST"


class ExpectationMismatchError(DomainError):
    """The client's expected old value does not match."""

    code = "EXPECTATION_MISMATCH"

    def __init__(self, name: str) -> None:
        super().__init__(
            _("'{name}' does not match the expected value.", name=name), field_name=name
        )


class SystemGroupRequiredError(DomainError):
    """The setting accepts role groups only."""

    code = "SYSTEM_GROUP_REQUIRED"

    def __init__(self, name: str) -> None:
        super().__init__(_("'{name}' must be a system user group.", name=name), setting_name=name)


class GroupInUseError(DomainError):
    """Settings or other groups use the group; `objections` lists them."""

    code = "CANNOT_DEACTIVATE_GROUP_IN_USE"

    def __init__(self, objections: list[dict[str, Any]]) -> None:
        super().__init__(_("Cannot deactivate user group in use."), objections=objections)


class LegalHoldError(BadRequestError):
    """A legal hold forbids it."""


class MoveTimeLimitError(DomainError):
    """Some of the topic's messages are too old for this user to move, but not all."""

    code = "MOVE_MESSAGES_TIME_LIMIT_EXCEEDED"


class MessagesRefusedError(DomainError):
    """Some of the messages may not be changed so, and none was changed.

    `refused` lists them, with the reason as a message for people.
    """

    code = "MESSAGES_REFUSED"

    def __init__(self, by_reason: Mapping[str, Sequence[int]]) -> None:
        count = sum(len(ids) for ids in by_reason.values())
        [reason, *others] = by_reason
        message = ngettext(
            "Nothing was changed, because of {count} message.",
            "Nothing was changed, because of {count} messages.",
            count,
        )
        super().__init__(
            message if others else _("Nothing was changed. {reason}", reason=reason),
            refused=[
                {"msg": reason, "message_ids": sorted(ids)} for reason, ids in by_reason.items()
            ],
        )


class UnauthorizedPrincipalError(DomainError):
    """The action is limited to administrators."""

    code = "UNAUTHORIZED_PRINCIPAL"


class BadImageError(DomainError):
    """The upload is not a usable image."""

    code = "BAD_IMAGE"


class UploadQuotaError(DomainError):
    """The file exceeds the realm's upload quota."""

    code = "REALM_UPLOAD_QUOTA"


class IdempotencyKeyReusedError(DomainError):
    """The Idempotency-Key was used with another request."""

    status = 422


class InvalidVideoCallProviderTokenError(DomainError):
    """The user has not connected an account at the service, or the service refuses its tokens."""

    code = "INVALID_VIDEO_CALL_PROVIDER_TOKEN"

    def __init__(self, provider: str) -> None:
        super().__init__(_("Invalid {provider} access token", provider=provider))
