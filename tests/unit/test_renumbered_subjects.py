"""Subjects of audit entries get the numbers of what they are."""

import pytest

from storage.audit_log import subject_type
from storage.exports.renumbering import Renumbering
from storage.exports.tables import SEQUENCES

OFFSETS = {sequence: (index + 1) * 1_000 for index, sequence in enumerate(sorted(SEQUENCES))}


@pytest.mark.parametrize(
    ("action", "sequence"),
    [
        ("user_role_changed", "user_ids"),
        ("invitation_accepted", "user_ids"),
        ("subscribers_added", "channel_ids"),
        ("subscription_changed", "channel_ids"),
        ("channel_folder_changed", "channel_folder_ids"),
        ("playground_added", "playground_ids"),
        ("default_channel_group_changed", "default_channel_group_ids"),
        ("topic_renamed", "conversation_ids"),
        ("realm_exported", "realm_export_ids"),
    ],
)
def test_a_subject_is_numbered_as_what_it_is(action: str, sequence: str):
    row = {"action": action, "subject_id": 7}
    moved = Renumbering(OFFSETS, realm_id=1).row("audit_log", row)
    assert moved["subject_id"] == 7 + OFFSETS[sequence]


def test_what_has_no_numbers_of_its_own_stays():
    row = {"action": "realm_import_abandoned", "subject_id": 7}
    assert Renumbering(OFFSETS, realm_id=1).row("audit_log", row) == row
    assert subject_type("robot_painted") is None
