"""Which messages are widgets, and what may be attached to them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.domain.errors import BadRequestError
from server.domain.widgets import MAX_SUBMESSAGE_LENGTH, check_submessage, widget_of

POLL = widget_of("/poll Lunch?\nSoup")
TODO = widget_of("/todo Move")


def read(content: str) -> tuple[str, dict[str, object]]:
    widget = widget_of(content)
    assert widget is not None
    body = json.loads(widget)
    return body["widget_type"], body["extra_data"]


@pytest.mark.parametrize(
    ("content", "question", "options"),
    [
        ("/poll", "", []),
        ("/poll Lunch?", "Lunch?", []),
        ("/poll  Lunch? \nSoup\n\n * Salad\n- Bread - fresh\n  ", "Lunch?",
         ["Soup", "Salad", "Bread - fresh"]),
        ("/poll\nOnly an option", "", ["Only an option"]),
    ],
)  # fmt: skip
def test_polls(content, question, options):
    assert read(content) == ("poll", {"question": question, "options": options})


@given(st.sampled_from(["", " ", "- ", "* ", "  -\t"]), st.from_regex(r"\A[-*]*\w[\w *-]*\w\Z"))
def test_what_begins_with_a_list_mark_without_a_blank_is_kept_whole(mark, item):
    options = {"question": "", "options": [item]}
    assert read(f"/poll\n{mark}{item}") == ("poll", options)
    tasks = {"task_list_title": "", "tasks": [{"task": item, "desc": ""}]}
    assert read(f"/todo\n{mark}{item}") == ("todo", tasks)


def test_list_marks_alone_are_no_options():
    options = {"question": "", "options": ["-5 °C", "*bold*", "**so**", "--", "-"]}
    assert read("/poll\n-\n* \n-5 °C\n*bold*\n- **so**\n--\n- -") == ("poll", options)


@pytest.mark.parametrize(
    ("content", "title", "tasks"),
    [
        ("/todo", "", []),
        ("/todo Move\npack: all: of it\n- call", "Move",
         [{"task": "pack", "desc": "all: of it"}, {"task": "call", "desc": ""}]),
    ],
)  # fmt: skip
def test_lists_of_tasks(content, title, tasks):
    assert read(content) == ("todo", {"task_list_title": title, "tasks": tasks})


@pytest.mark.parametrize(
    "content", ["poll", "a /poll", "/polls a", "/pollx", " /poll", "/me /poll"]
)
def test_ordinary_messages(content):
    assert widget_of(content) is None


@pytest.mark.parametrize(
    ("widget", "data"),
    [
        (POLL, {"type": "vote", "key": "canned,0", "vote": 1}),
        (POLL, {"type": "vote", "key": "canned,0", "vote": -1}),
        (POLL, {"type": "new_option", "option": "Bread", "idx": 1}),
        (TODO, {"type": "strike", "key": "7,1"}),
        (TODO, {"type": "new_task", "key": 1, "task": "a", "desc": "", "completed": False}),
    ],
)
def test_what_all_may_attach(widget, data):
    check_submessage(widget, json.dumps(data), is_author=False)


@pytest.mark.parametrize(
    ("widget", "data"),
    [
        (POLL, {"type": "question", "question": "Dinner?"}),
        (TODO, {"type": "new_task_list_title", "title": "Later"}),
    ],
)
def test_what_the_author_alone_may_attach(widget, data):
    check_submessage(widget, json.dumps(data), is_author=True)
    with pytest.raises(BadRequestError, match="author"):
        check_submessage(widget, json.dumps(data), is_author=False)


@pytest.mark.parametrize(
    ("widget", "content"),
    [
        (None, '{"type": "vote", "key": "a", "vote": 1}'),
        (POLL, "no json"),
        (POLL, "[" * 5_000),
        (POLL, "[]"),
        (POLL, "7"),
        (POLL, "{}"),
        (POLL, '{"type": ["vote"]}'),
        (POLL, '{"type": "strike", "key": "a"}'),
        (TODO, '{"type": "vote", "key": "a", "vote": 1}'),
        (POLL, '{"type": "vote", "key": "a"}'),
        (POLL, '{"type": "vote", "key": 1, "vote": 1}'),
        (POLL, '{"type": "vote", "key": "a", "vote": 2}'),
        (POLL, '{"type": "vote", "key": "a", "vote": true}'),
        (POLL, '{"type": "vote", "key": "a", "vote": 1, "more": 1}'),
        (POLL, json.dumps({"type": "new_option", "option": "a" * MAX_SUBMESSAGE_LENGTH, "idx": 1})),
    ],
)
def test_what_no_user_may_attach(widget, content):
    with pytest.raises(BadRequestError):
        check_submessage(widget, content, is_author=True)
