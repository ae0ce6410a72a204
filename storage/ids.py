"""A type for each kind of identifier: a UserId is not a MessageId."""

from typing import NewType

RealmId = NewType("RealmId", int)
UserId = NewType("UserId", int)
ChannelId = NewType("ChannelId", int)
TopicId = NewType("TopicId", int)
GroupId = NewType("GroupId", int)
DmGroupId = NewType("DmGroupId", int)
DraftId = NewType("DraftId", int)
SavedSnippetId = NewType("SavedSnippetId", int)
LinkifierId = NewType("LinkifierId", int)
PlaygroundId = NewType("PlaygroundId", int)
SlashCommandId = NewType("SlashCommandId", int)
ButtonClickId = NewType("ButtonClickId", int)
ImportRequestId = NewType("ImportRequestId", int)
ProfileFieldId = NewType("ProfileFieldId", int)
ChannelGroupId = NewType("ChannelGroupId", int)
FolderId = NewType("FolderId", int)
PushDeviceId = NewType("PushDeviceId", int)
AttachmentId = NewType("AttachmentId", int)
InvitationId = NewType("InvitationId", int)
EmojiId = NewType("EmojiId", int)
ApiKeyId = NewType("ApiKeyId", int)
ScimTokenId = NewType("ScimTokenId", int)
AccountExportId = NewType("AccountExportId", int)
ComplianceCaseId = NewType("ComplianceCaseId", int)
LegalHoldId = NewType("LegalHoldId", int)
FactorId = NewType("FactorId", int)
QueueId = NewType("QueueId", str)

Position = NewType("Position", int)
"""A tick of a realm's clock. Dense within an epoch, and visible in order."""

MessageId = NewType("MessageId", int)
"""The position at which the message was sent; it repeats from realm to realm."""

ScheduledMessageId = NewType("ScheduledMessageId", int)
ReminderId = NewType("ReminderId", int)
"""Like the above the position at which it was created, so no message has the same id."""
