-- no transaction
-- The oldest direct messages of an organization.
DROP INDEX CONCURRENTLY IF EXISTS messages_direct;
CREATE INDEX CONCURRENTLY messages_direct ON messages (realm_id, id) INCLUDE (conversation_id) WHERE channel_id IS NULL;
