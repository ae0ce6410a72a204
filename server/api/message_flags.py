"""POST /messages/flags."""

from typing import Literal

from server.actions import message_flags
from server.api.endpoint import Access, Endpoint, Request, Result
from server.api.params import Params
from storage.ids import MessageId


class FlagParams(Params):
    messages: list[int]
    op: Literal["add", "remove"]
    flag: str


class FlagResult(Result, kw_only=True, omit_defaults=True):
    messages: list[int]
    ignored_because_not_subscribed_channels: list[int] | None = None


async def change_flag(request: Request, params: FlagParams) -> FlagResult:
    message_ids = [MessageId(each) for each in dict.fromkeys(params.messages)]
    message_flags.check_flag(params.flag, message_ids)
    clocked = await request.write(message_flags.change_flag, message_ids, params.op, params.flag)
    changed = clocked.result
    lists_left_out = params.flag == "read" and params.op == "remove"
    return FlagResult(
        messages=[*changed.message_ids],
        ignored_because_not_subscribed_channels=[*changed.left_out] if lists_left_out else None,
    )


ENDPOINTS = (Endpoint("POST", "/messages/flags", Access.USER, FlagParams, change_flag, FlagResult),)
