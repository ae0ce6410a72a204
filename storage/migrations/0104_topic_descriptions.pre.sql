-- no transaction
-- What a topic is about, as Markdown and HTML: both or neither.
ALTER TABLE topics ADD COLUMN IF NOT EXISTS description text;
ALTER TABLE topics ADD COLUMN IF NOT EXISTS rendered_description text;
DROP INDEX CONCURRENTLY IF EXISTS topics_described;
CREATE INDEX CONCURRENTLY topics_described ON topics (realm_id, channel_id)
    WHERE description IS NOT NULL;
