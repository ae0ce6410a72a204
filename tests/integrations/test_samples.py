"""What the integrations make of samples that services have sent, and of broken ones."""

import json
import random
import re
from pathlib import Path

import pytest

from server.api.external import IntegrationParams
from server.integrations.base import Message
from server.integrations.registry import integrations
from testkit.integration_samples import SAMPLES, outcome_of, shown
from testkit.webhook_fuzz import COMPOSED, broken, check_content

FOUND = sorted(path for path in SAMPLES.glob("*/*.json") if path.name != "headers.json")
BROKEN = 8
"""Broken variants of each sample."""


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
            check_content(outcome.content, is_composed=path.parent.name in COMPOSED)


@pytest.mark.parametrize("name", integrations())
def test_an_integration_is_complete(name: str):
    integration = integrations()[name]
    assert re.fullmatch(r"[a-z0-9_]+", name)
    assert "{url}" in integration.setup
    assert {each.key for each in integration.options} <= set(IntegrationParams.model_fields)
    assert any(path.parent.name == name for path in FOUND), "there is no sample"
