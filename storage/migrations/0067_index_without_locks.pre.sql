-- Whoever deletes a message that is not in the index leaves a mark, as whoever edits one does: the
-- worker may be bringing it in at that moment, and takes it out again. So it need not lock what it
-- reads, which wrote each message's row once more, and nobody who deletes waits for it.
CREATE OR REPLACE FUNCTION forget_terms() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    WITH forgotten AS (
        DELETE FROM message_terms t USING gone g
         WHERE t.realm_id = g.realm_id AND t.message_id = g.id
        RETURNING t.realm_id, t.message_id
    )
    INSERT INTO search_stale (realm_id, message_id)
    SELECT g.realm_id, g.id FROM gone g
    EXCEPT SELECT f.realm_id, f.message_id FROM forgotten f
    ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
