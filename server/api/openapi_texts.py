"""Prose of the API's description."""

from typing import Final

INTRODUCTION: Final = """\
Requests go to `/api/v1` at the address of the organization, with HTTP basic authentication: the
user's email address and API key. Bots have keys of their own, and named keys reach only what their
scopes allow.

Parameters are sent in the query, or as a form (`application/x-www-form-urlencoded` or
`multipart/form-data`). Text is sent as it is; every other value is JSON inside its field. Unknown
parameters are ignored, and listed as `ignored_parameters_unsupported`; names that select what
a request acts on, like `user_ids`, are refused where they mean nothing.

Answers are JSON. `result` is `success` or `error`. An error has a `code` for programs and a `msg`
for people, and where a parameter is wrong its name as `var_name`; its status is 400 unless the
code calls for another one.

Requests are rate limited: `X-RateLimit-Remaining` counts down, and an answer with the status 429
says in `Retry-After` when to try again. 503 with the code `SERVER_NOT_READY` may be tried again
shortly, too.
"""
AREA_TITLES: Final = {
    "api_keys": "API keys",
    "attachments": "Uploaded files",
    "authentication": "Getting an API key",
    "bot_storage": "Storage of bots",
    "calls": "Video calls",
    "default_channel_groups": "Groups of default channels",
    "emoji": "Unicode emoji",
    "external": "Incoming webhooks",
    "integrations": "Integrations",
    "groups": "User groups",
    "linkifiers": "Linkifiers and playgrounds",
    "message_changes": "Editing and deleting messages",
    "narrows": "Matching messages",
    "onboarding_steps": "Hints for new users",
    "openapi": "This description",
    "pins": "Pinned topics and messages",
    "profile_fields": "Custom profile fields",
    "client_devices": "Push notifications",
    "push_devices": "Push notifications",
    "realm": "Organization",
    "realm_activation": "Deactivating the organization",
    "realm_domains": "Domains of the organization",
    "realm_emoji": "Custom emoji",
    "realm_exports": "Exports",
    "message_buttons": "Buttons of bots' messages",
    "realm_pictures": "Icon and logo",
    "register": "Initial state and event queues",
    "server_settings": "Before sign-in",
    "slash_commands": "Slash commands of bots",
    "submessages": "Widgets",
    "topic_descriptions": "Descriptions of topics",
    "tus": "Resumable uploads",
    "typing": "Typing notifications",
    "unconfirmed_addresses": "Unconfirmed addresses",
    "unsubscribing": "Unsubscribing from emails",
    "user_topics": "Following and muting topics",
    "web_push": "Push notifications to browsers",
    "zcommand": "Built-in slash commands",
}
"""Areas whose title is not simply their name."""
