-- no transaction
-- Names are unique by their foldings. `parley migrate` has renamed what was there twice.
DROP INDEX CONCURRENTLY IF EXISTS channels_folding;
CREATE UNIQUE INDEX CONCURRENTLY channels_folding ON channels (realm_id, folded_name);
DROP INDEX CONCURRENTLY IF EXISTS topics_folding;
CREATE UNIQUE INDEX CONCURRENTLY topics_folding ON topics (realm_id, channel_id, folded_name);
DROP INDEX CONCURRENTLY IF EXISTS user_groups_folding;
CREATE UNIQUE INDEX CONCURRENTLY user_groups_folding ON user_groups (realm_id, folded_name);
DROP INDEX CONCURRENTLY IF EXISTS channel_folders_folding;
CREATE UNIQUE INDEX CONCURRENTLY channel_folders_folding ON channel_folders (realm_id, folded_name) WHERE NOT is_archived;
DROP INDEX CONCURRENTLY IF EXISTS default_channel_groups_folding;
CREATE UNIQUE INDEX CONCURRENTLY default_channel_groups_folding ON default_channel_groups (realm_id, folded_name);

-- What they replace.
DROP INDEX CONCURRENTLY IF EXISTS channels_name;
DROP INDEX CONCURRENTLY IF EXISTS topics_name;
DROP INDEX CONCURRENTLY IF EXISTS user_groups_name;
DROP INDEX CONCURRENTLY IF EXISTS channel_folders_name;
DROP INDEX CONCURRENTLY IF EXISTS default_channel_groups_name;
DROP INDEX CONCURRENTLY IF EXISTS channels_folded_names;
DROP INDEX CONCURRENTLY IF EXISTS topics_folded_names;
DROP INDEX CONCURRENTLY IF EXISTS user_groups_folded_names;
DROP PROCEDURE IF EXISTS fill_foldings;
DROP FUNCTION IF EXISTS send_message(bigint, bigint, bigint, bigint, bigint, bigint, bigint, bigint, bigint, text, bigint, bigint[], bigint[], timestamp with time zone, integer, text, text, text, bigint[], integer[], bytea, bytea, uuid, text, bytea, smallint, smallint, bigint[], boolean, text);
DROP FUNCTION IF EXISTS rename_topic(bigint, bigint, text, jsonb, bigint, bytea[], jsonb, jsonb, bigint, jsonb, jsonb, uuid, jsonb, bytea, uuid);
DROP FUNCTION IF EXISTS set_named_topic_policy(bigint, bigint, bigint, text, smallint, timestamp with time zone, text, uuid);
