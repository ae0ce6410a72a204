"""Trello: cards, checklists, lists and boards."""

from collections.abc import Callable, Mapping
from typing import Final

from server.integrations.alerts import moment
from server.integrations.base import (
    Category,
    Delivery,
    Ignored,
    Integration,
    Message,
    Outcome,
    Unknown,
)
from server.integrations.markdown import bold, link, one_line, text
from server.integrations.payload import Payload
from server.integrations.repositories import acted
from server.integrations.signatures import Signature

CARD_PAGE: Final = "https://trello.com/c/"
BOARD_PAGE: Final = "https://trello.com/b/"

_QUIET: Final = (
    *("copyCommentCard", "addBoardsPinnedToMember", "enablePowerUp", "disablePowerUp"),
    *("updateCustomFieldItem", "updateCustomField", "createCustomField", "deleteCustomField"),
    *("createLabel", "updateLabel", "deleteLabel", "voteOnCard", "enablePlugin", "disablePlugin"),
    *("createCheckItem", "updateCheckItem", "updateChecklist", "convertToCardFromCheckItem"),
    *("addToOrganizationBoard", "removeFromOrganizationBoard", "updateCheckItemDue"),
    *("copyBoard", "copyChecklist", "deleteCheckItem", "makeObserverOfBoard", "updateMember"),
    *("unconfirmedBoardInvitation", "deactivatedMemberInBoard", "reactivatedMemberInBoard"),
)


def read(delivery: Delivery) -> Outcome:
    """Turn an action on a board into a message, by its type."""
    payload = delivery.payload
    action = payload["action"].required()
    kind, data = action["type"].required_text(), action["data"]
    if kind in _QUIET:
        return Ignored(kind, f"Nothing is said of {kind}.")
    reader = _CARD.get(kind) or _BOARD.get(kind)
    if reader is None:
        return Unknown(kind)
    who = action["memberCreator"].first("fullName", "username").text("Someone")
    if kind in _CARD:
        data["card"].required()
    said = reader(action, data)
    if said is None:
        return Ignored(kind, "It names no change that would be posted.")
    verb, what, extra, body = said
    name = data["board"]["name"].text() or payload["model"]["name"].text("Board")
    topic = _card_topic(data, name) if kind in _CARD else one_line(name)
    return Message(topic, acted(who, verb, what, extra=extra, body=body), kind)


_Said = tuple[str, str, str, str] | None
"""Verb, object, addition and quoted body; None if there is nothing to say."""


def _card_topic(data: Payload, board: str) -> str:
    number, name = data["card"]["idShort"].text(), data["card"]["name"].text()
    return one_line(f"{board} / #{number} {name}" if number else f"{board} / {name}")


def _card(data: Payload) -> str:
    card = data["card"]
    short = card["shortLink"].text()
    return link(card["name"].text("a card"), f"{CARD_PAGE}{short}" if short else "")


def _board(data: Payload) -> str:
    board = data["board"]
    short = board["shortLink"].text()
    return link(board["name"].text("the board"), f"{BOARD_PAGE}{short}" if short else "")


def _list(data: Payload, key: str = "list") -> str:
    return bold(data[key]["name"].text())


def _in_list(data: Payload) -> str:
    shown = _list(data)
    return f"in {shown}" if shown else ""


def _member(action: Payload) -> str:
    return bold(action["member"].first("fullName", "username").text("a member"))


# -- cards


def _updated_card(_: Payload, data: Payload) -> _Said:
    old, card, shown = data["old"], data["card"], _card(data)
    if "listAfter" in data:
        before, after = _list(data, "listBefore"), _list(data, "listAfter")
        return ("moved", shown, f"from {before} to {after}", "")
    if "name" in old:
        return ("renamed", bold(old["name"].text()), f"to {shown}", "")
    if "closed" in old:
        return ("archived" if card["closed"].flag() else "reopened", shown, _in_list(data), "")
    if "desc" in old:
        new = card["desc"].text()
        verb = "changed" if new and old["desc"] else "set" if new else "removed"
        return (f"{verb} the description of", shown, "", new)
    if "dueComplete" in old:
        is_done = card["dueComplete"].flag()
        return ("completed" if is_done else "marked as not complete", shown, "", "")
    return _due(data) if "due" in old else None


def _due(data: Payload) -> _Said:
    due, shown = moment(data["card"]["due"]), _card(data)
    if not due:
        return ("removed the due date of", shown, "", "")
    verb = "changed" if data["old"]["due"] else "set"
    return (f"{verb} the due date of", shown, f"to {due}", "")


def _attachment(data: Payload) -> str:
    attachment = data["attachment"]
    return link(attachment["name"].text("an attachment"), attachment["url"].text())


def _label(data: Payload) -> str:
    label = data["label"]
    name, color = label["name"].text(), label["color"].text() or data["value"].text()
    return bold(name) if name else text(color)


def _checked(_: Payload, data: Payload) -> _Said:
    item = data["checkItem"]
    verb = "checked" if item["state"].text() == "complete" else "unchecked"
    checklist = bold(data["checklist"]["name"].text())
    extra = f"in {checklist} of {_card(data)}" if checklist else f"of {_card(data)}"
    return (verb, bold(item["name"].text()), extra, "")


_Reader = Callable[[Payload, Payload], _Said]


def _of_card(verb: str, what: Callable[[Payload, Payload], str], preposition: str) -> _Reader:
    """Return a reader of something that is put onto a card or taken from it."""
    return lambda action, data: (verb, what(action, data), f"{preposition} {_card(data)}", "")


def _checklist(_: Payload, data: Payload) -> str:
    return f"the checklist {bold(data['checklist']['name'].text())}"


_CARD: Final[Mapping[str, _Reader]] = {
    "createCard": lambda _, data: (
        "created",
        _card(data),
        _in_list(data),
        data["card"]["desc"].text(),
    ),
    "copyCard": lambda _, data: (
        "copied",
        bold(data["cardSource"]["name"].text("a card")),
        f"to {_card(data)}",
        "",
    ),
    "emailCard": lambda _, data: (
        "created",
        _card(data),
        f"by email {_in_list(data)}".strip(),
        "",
    ),
    "deleteCard": lambda _, data: (
        "deleted",
        text(f"card #{data['card']['idShort'].text()}"),
        _in_list(data),
        "",
    ),
    "updateCard": _updated_card,
    "moveCardToBoard": lambda _, data: (
        "moved",
        _card(data),
        f"here from {bold(data['boardSource']['name'].text('another board'))}",
        "",
    ),
    "moveCardFromBoard": lambda _, data: (
        "moved",
        _card(data),
        f"to {bold(data['boardTarget']['name'].text('another board'))}",
        "",
    ),
    "commentCard": lambda _, data: ("commented on", _card(data), "", data["text"].text()),
    "updateComment": lambda _, data: (
        "edited a comment on",
        _card(data),
        "",
        data["action"]["text"].text(),
    ),
    "deleteComment": lambda _, data: ("deleted a comment on", _card(data), "", ""),
    "addAttachmentToCard": _of_card("attached", lambda _, data: _attachment(data), "to"),
    "deleteAttachmentFromCard": _of_card(
        "removed the attachment", lambda _, data: _attachment(data), "from"
    ),
    "addChecklistToCard": _of_card("added", _checklist, "to"),
    "removeChecklistFromCard": _of_card("removed", _checklist, "from"),
    "addLabelToCard": _of_card("added the label", lambda _, data: _label(data), "to"),
    "removeLabelFromCard": _of_card("removed the label", lambda _, data: _label(data), "from"),
    "addMemberToCard": _of_card("added", lambda action, _: _member(action), "to"),
    "removeMemberFromCard": _of_card("removed", lambda action, _: _member(action), "from"),
    "updateCheckItemStateOnCard": _checked,
}

# -- boards and lists


def _updated_board(_: Payload, data: Payload) -> _Said:
    old = data["old"]
    if "name" in old:
        return ("renamed the board", bold(old["name"].text()), f"to {_board(data)}", "")
    if "closed" in old:
        is_closed = data["board"]["closed"].flag()
        return ("closed" if is_closed else "reopened", f"the board {_board(data)}", "", "")
    return None


def _updated_list(_: Payload, data: Payload) -> _Said:
    old, shown = data["old"], _list(data)
    if "name" in old:
        return ("renamed the list", bold(old["name"].text()), f"to {shown}", "")
    if "closed" in old:
        is_closed = data["list"]["closed"].flag()
        return ("archived" if is_closed else "reopened", f"the list {shown}", "", "")
    return None


_BOARD: Final[Mapping[str, _Reader]] = {
    "createBoard": lambda _, data: ("created", f"the board {_board(data)}", "", ""),
    "updateBoard": _updated_board,
    "createList": lambda _, data: ("added", f"the list {_list(data)}", f"to {_board(data)}", ""),
    "updateList": _updated_list,
    "moveListToBoard": lambda _, data: ("moved", f"the list {_list(data)}", "to this board", ""),
    "moveListFromBoard": lambda _, data: (
        "moved",
        f"the list {_list(data)}",
        f"to {bold(data['boardTarget']['name'].text('another board'))}",
        "",
    ),
    "addMemberToBoard": lambda action, data: ("added", _member(action), f"to {_board(data)}", ""),
    "makeAdminOfBoard": lambda action, data: (
        "made",
        _member(action),
        f"an administrator of {_board(data)}",
        "",
    ),
    "makeNormalMemberOfBoard": lambda action, data: (
        "made",
        _member(action),
        f"an ordinary member of {_board(data)}",
        "",
    ),
    "removeMemberFromBoard": lambda action, data: (
        "removed",
        _member(action),
        f"from {_board(data)}",
        "",
    ),
}

INTEGRATIONS: Final = (
    Integration(
        name="trello",
        display_name="Trello",
        category=Category.PROJECT_MANAGEMENT,
        read=read,
        setup=(
            "Create an API key and a token in Trello's *Power-Up admin portal*, and find the"
            " board's id: add `.json` to its address, and look for `id`.\n"
            "Run `curl -d key=KEY -d idModel=BOARD --data-urlencode 'callbackURL={url}'"
            " 'https://api.trello.com/1/tokens/TOKEN/webhooks/'`."
        ),
        events=(*_CARD, *_BOARD),
        has_unique_bodies=True,
        signatures=(
            Signature(
                header="X-Trello-Webhook", algorithm="sha1", encoding="base64", signs_url=True
            ),
        ),
        signing_step=(
            "Copy the *Secret* beside the API key in the *Power-Up admin portal*. Trello signs the"
            " address as well: it must be the one that you gave it, at the URL of the organization."
        ),
    ),
)
