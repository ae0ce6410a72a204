-- no transaction
-- Fill the foldings of names, and find them. Unique they are once the new release runs everywhere.
CALL fill_foldings('channels', 'channel_id', 'name');
CALL fill_foldings('topics', 'topic_id', 'name');
CALL fill_foldings('user_groups', 'group_id', 'name');
CALL fill_foldings('channel_folders', 'folder_id', 'name');
CALL fill_foldings('default_channel_groups', 'group_id', 'name');
CALL fill_foldings('users', 'user_id', 'full_name');
DROP INDEX CONCURRENTLY IF EXISTS channels_folded_names;
CREATE INDEX CONCURRENTLY channels_folded_names ON channels (realm_id, folded_name);
DROP INDEX CONCURRENTLY IF EXISTS topics_folded_names;
CREATE INDEX CONCURRENTLY topics_folded_names ON topics (realm_id, channel_id, folded_name);
DROP INDEX CONCURRENTLY IF EXISTS user_groups_folded_names;
CREATE INDEX CONCURRENTLY user_groups_folded_names ON user_groups (realm_id, folded_name);
DROP INDEX CONCURRENTLY IF EXISTS users_folded_names;
CREATE INDEX CONCURRENTLY users_folded_names ON users (realm_id, folded_name);
