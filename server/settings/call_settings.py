"""Declarations of the settings of services for calls."""

from typing import Annotated

import msgspec
from msgspec import Meta

from server.settings.descriptions import BASE_URL, described


class CallSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Services that organizations may choose for calls."""

    bigbluebutton_url: Annotated[
        Annotated[str, Meta(pattern=BASE_URL)] | None,
        described("an address like https://calls.example.com/bigbluebutton/"),
    ] = None
    """Where people have calls. None, or without the secret: not there."""
    bigbluebutton_secret: Annotated[str | None, described("a shared secret")] = None
    constructor_groups_url: Annotated[
        Annotated[str, Meta(pattern=BASE_URL)] | None,
        described("an address like https://example.constructor.app/api/groups/xapi"),
    ] = None
    """The API of Constructor Groups. None, or without both keys: not offered for calls."""
    constructor_groups_access_key: Annotated[
        Annotated[str, Meta(pattern=r"^[!-{}~]+$")] | None, described("an access key")
    ] = None
    constructor_groups_secret_key: Annotated[
        Annotated[str, Meta(min_length=1)] | None, described("the secret of the access key")
    ] = None
    nextcloud_talk_url: Annotated[
        Annotated[str, Meta(pattern=BASE_URL)] | None,
        described("an address like https://cloud.example.com"),
    ] = None
    """The Nextcloud server. None, or without user and password: not offered for calls."""
    nextcloud_talk_user: Annotated[
        Annotated[str, Meta(pattern=r"^[^:\s]+$")] | None, described("a name to sign in with")
    ] = None
    nextcloud_talk_password: Annotated[
        Annotated[str, Meta(min_length=1)] | None, described("a password")
    ] = None
    webex_client_id: Annotated[
        Annotated[str, Meta(min_length=1)] | None, described("the id of an integration")
    ] = None
    """Of this server at Webex. None, or without the secret: not offered for calls."""
    webex_client_secret: Annotated[
        Annotated[str, Meta(min_length=1)] | None, described("the secret of the integration")
    ] = None
    webex_api_url: Annotated[
        Annotated[str, Meta(pattern=BASE_URL)],
        described("an address like https://webexapis.com/v1"),
    ] = "https://webexapis.com/v1"
    zoom_client_id: Annotated[
        Annotated[str, Meta(min_length=1)] | None, described("the id of an app")
    ] = None
    """Of this server at Zoom. None, or without the secret: not offered for calls."""
    zoom_client_secret: Annotated[
        Annotated[str, Meta(min_length=1)] | None, described("the secret of the app")
    ] = None
    zoom_oauth_url: Annotated[
        Annotated[str, Meta(pattern=BASE_URL)], described("an address like https://zoom.us")
    ] = "https://zoom.us"
    zoom_api_url: Annotated[
        Annotated[str, Meta(pattern=BASE_URL)], described("an address like https://api.zoom.us")
    ] = "https://api.zoom.us"
    jitsi_server_url: Annotated[
        Annotated[str, Meta(pattern=BASE_URL)],
        described("an address like https://meet.example.com"),
    ] = "https://meet.jit.si"
    """The server of Jitsi Meet for calls in organizations without a setting of their own."""

    @property
    def call_services(self) -> frozenset[str]:
        """Names of the services for calls that the operator has configured completely."""
        needed = {
            "big_blue_button": ("bigbluebutton_url", "bigbluebutton_secret"),
            "constructor_groups": (
                "constructor_groups_url",
                "constructor_groups_access_key",
                "constructor_groups_secret_key",
            ),
            "nextcloud_talk": (
                "nextcloud_talk_url",
                "nextcloud_talk_user",
                "nextcloud_talk_password",
            ),
            "webex": ("webex_client_id", "webex_client_secret"),
            "zoom": ("zoom_client_id", "zoom_client_secret"),
        }
        return frozenset(
            service
            for service, names in needed.items()
            if all(getattr(self, name) is not None for name in names)
        )
