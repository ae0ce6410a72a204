-- no transaction
-- What has been elsewhere and is back where it was sent is found beside what has been moved there.
DROP INDEX CONCURRENTLY IF EXISTS messages_come;
CREATE INDEX CONCURRENTLY messages_come ON messages (realm_id, conversation_id, id) INCLUDE (origin_conversation_id) WHERE conversation_id <> origin_conversation_id OR entered_at IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS messages_come_to_channel;
CREATE INDEX CONCURRENTLY messages_come_to_channel ON messages (realm_id, channel_id, id) INCLUDE (conversation_id, origin_conversation_id) WHERE conversation_id <> origin_conversation_id OR entered_at IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS messages_moved_to;
DROP INDEX CONCURRENTLY IF EXISTS messages_moved_to_channel;
