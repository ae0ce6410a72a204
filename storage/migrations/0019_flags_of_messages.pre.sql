-- no transaction
-- Whoever a message concerns, in pages, by user.
DROP INDEX CONCURRENTLY IF EXISTS message_flags_of_message;
CREATE INDEX CONCURRENTLY message_flags_of_message ON message_flags (realm_id, message_id, user_id);
DROP INDEX CONCURRENTLY IF EXISTS message_flags_message;
