-- Job queues.

-- Realms above p_after and up to p_until that have jobs in the queue, in order: one index look-up
-- for each.
CREATE OR REPLACE FUNCTION realms_with_jobs(p_queue text, p_after bigint, p_until bigint, p_limit integer)
    RETURNS TABLE (realm_id bigint, place bigint)
    LANGUAGE sql STABLE
    AS $$
    WITH RECURSIVE found AS (
        (SELECT j.realm_id, 1::bigint AS place FROM jobs j
          WHERE j.queue = p_queue AND j.realm_id > p_after AND j.realm_id <= p_until
          ORDER BY j.realm_id LIMIT 1)
        UNION ALL
        SELECT (SELECT j.realm_id FROM jobs j
                 WHERE j.queue = p_queue AND j.realm_id > f.realm_id AND j.realm_id <= p_until
                 ORDER BY j.realm_id LIMIT 1), f.place + 1
          FROM found f WHERE f.realm_id IS NOT NULL AND f.place < p_limit)
    SELECT f.realm_id, f.place FROM found f WHERE f.realm_id IS NOT NULL
$$;
