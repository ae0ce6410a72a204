-- The direct messages that mention everybody are few among all of a group.
CREATE INDEX messages_direct_wildcard ON messages (realm_id, conversation_id, id)
    WHERE origin_channel_id IS NULL AND traits & 2 <> 0;
