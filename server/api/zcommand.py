"""Commands that clients send for their user, over HTTP."""

from server.api.endpoint import Access, Endpoint, Request, Result
from server.api.params import Params
from server.domain.errors import BadRequestError


class CommandParams(Params):
    command: str


class CommandResult(Result):
    """Nothing but the envelope, whose `msg` clients show."""


async def run_command(request: Request, params: CommandParams) -> CommandResult:
    del request
    if not params.command.startswith("/"):
        raise BadRequestError("There should be a leading slash in the zcommand.")
    name = params.command[1:].strip()
    if name != "ping":
        raise BadRequestError(f"No such command: {name}")
    return CommandResult()


ENDPOINTS = (Endpoint("POST", "/zcommand", Access.USER, CommandParams, run_command, CommandResult),)
