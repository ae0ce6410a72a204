-- Each row of notifications was in four indexes, and again in each when its email had been sent.
-- The rows of a batch are found among those of its user. Old ones are deleted once an hour: a range
-- of blocks is enough to find them, since rows are in the order of their times.
DROP INDEX IF EXISTS notifications_batch;
DROP INDEX IF EXISTS notifications_decided;
CREATE INDEX notifications_age ON notifications USING brin (decided_at);
