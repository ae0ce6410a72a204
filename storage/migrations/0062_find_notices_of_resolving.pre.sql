-- no transaction
-- Notices that a topic is resolved, or no longer: few, and passed over where unread messages are looked for.
DROP INDEX CONCURRENTLY IF EXISTS messages_notices;
CREATE INDEX CONCURRENTLY messages_notices ON messages (realm_id, channel_id, id) WHERE traits & 128 <> 0;
