"""What the integrations make of samples that services have sent, and of broken ones."""

import json
import random
import re
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from server.api.external import IntegrationParams
from server.integrations.base import Message
from server.integrations.registry import integrations
from testkit.integration_samples import SAMPLES, outcome_of, shown

FOUND = sorted(path for path in SAMPLES.glob("*/*.json") if path.name != "headers.json")
BROKEN = 8
"""Broken variants of each sample."""
MENTION = re.compile(r"@_?\*")
CODE = re.compile(r"(`+).*?\1", re.DOTALL)
ODD_VALUES: tuple[Any, ...] = (
    *(None, True, 0, -1, 1e308, "", "x" * 5_000, "\u202e@**all**", "```", [], {}, [None], [[]]),
    *({"a": {}}, "a\nb", 2**70, "]( javascript:alert(1))", "> \\@**all**"),
)


def name_of(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


@pytest.mark.parametrize("path", FOUND, ids=name_of)
def test_a_sample_becomes_what_is_expected(path: Path):
    sample = json.loads(path.read_text())
    outcome = outcome_of(path.parent.name, sample)
    assert shown(outcome) == path.with_suffix(".txt").read_text()
    if isinstance(outcome, Message):
        events = integrations()[path.parent.name].events
        assert outcome.topic
        assert not events or outcome.event in events


@pytest.mark.parametrize("path", FOUND, ids=name_of)
def test_a_broken_sample_is_no_fault_and_mentions_no_one(path: Path):
    sample = json.loads(path.read_text())
    rng = random.Random(name_of(path))
    for _ in range(BROKEN):
        outcome = outcome_of(path.parent.name, {**sample, "body": broken(sample["body"], rng)})
        if isinstance(outcome, Message):
            assert not MENTION.search(CODE.sub("", outcome.content))


def broken(value: Any, rng: random.Random) -> Any:
    """The value with some of its parts replaced or removed."""
    copy = json.loads(json.dumps(value))
    for _ in range(rng.randint(1, 4)):
        places = list(places_of(copy))
        if not places:
            return deepcopy(rng.choice(ODD_VALUES))
        parent, key = rng.choice(places)
        if rng.random() < 0.2:
            del parent[key]
        else:
            parent[key] = deepcopy(rng.choice(ODD_VALUES))
    return copy


def places_of(value: Any) -> Iterator[tuple[Any, Any]]:
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, each in list(items) if isinstance(value, dict | list) else ():
        yield value, key
        if isinstance(each, dict | list):
            yield from places_of(each)


@pytest.mark.parametrize("name", integrations())
def test_an_integration_is_complete(name: str):
    integration = integrations()[name]
    assert re.fullmatch(r"[a-z0-9_]+", name)
    assert "{url}" in integration.setup
    assert {each.key for each in integration.options} <= set(IntegrationParams.model_fields)
    assert any(path.parent.name == name for path in FOUND), "there is no sample"
