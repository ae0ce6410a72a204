-- no transaction
DROP INDEX CONCURRENTLY IF EXISTS messages_pinned;
CREATE INDEX CONCURRENTLY messages_pinned ON messages (realm_id, channel_id, id)
    WHERE traits & 512 <> 0;
DROP INDEX CONCURRENTLY IF EXISTS topics_pinned;
CREATE INDEX CONCURRENTLY topics_pinned ON topics (realm_id, channel_id)
    WHERE pinned_at IS NOT NULL;
