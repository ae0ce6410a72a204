-- A page of history is one look at its messages: what they say is read where it is found out what may
-- be read, and what belongs to a conversation is looked up once for each of them.

-- message_states gives how each message stands to one user, what reader_states says of many; and
-- message_rows those that the user may read, by id, with all that a reader is shown of them. Both are
-- one text, so that nobody reads by other rules than those by which things are read and marked.
DO $do$
DECLARE
    template text := $fn$
CREATE OR REPLACE FUNCTION @function
    LANGUAGE plpgsql STABLE ROWS 100
    SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off
    SET jit = off
    AS $$
#variable_conflict use_column
DECLARE
    v_role smallint := (SELECT x.role FROM users x
                         WHERE x.realm_id = p_realm_id AND x.user_id = p_user_id);
    v_mutes boolean := EXISTS (SELECT FROM muted_users x
                                WHERE x.realm_id = p_realm_id AND x.user_id = p_user_id);@declared
BEGIN
    RETURN QUERY
    WITH looked_at AS MATERIALIZED (
        SELECT x.id, x.sender_id, x.conversation_id, x.origin_conversation_id, x.traits,
               coalesce(x.channel_id, 0) AS place, coalesce(x.origin_channel_id, 0) AS origin@said
          FROM messages x
         WHERE x.realm_id = p_realm_id AND x.id = ANY (p_ids)
    ), flagged AS MATERIALIZED (
        SELECT x.message_id AS id, x.flags FROM message_flags x
         WHERE x.realm_id = p_realm_id AND x.user_id = p_user_id AND x.message_id = ANY (p_ids)
    ), places AS MATERIALIZED (
        SELECT w.place, w.origin, there.spans,
               w.place = 0 OR coalesce(here.active, false) AS subscribed,
               CASE WHEN w.place <> 0 THEN (
                    SELECT channel_access(p_user_id, v_role, here.active, x) FROM channels x
                     WHERE x.realm_id = p_realm_id AND x.channel_id = w.place) END AS access,
               (SELECT x.read + '{}'::int8multirange FROM channel_read x
                 WHERE x.realm_id = p_realm_id AND x.user_id = p_user_id
                   AND x.channel_id = w.origin) AS read
          FROM (SELECT DISTINCT l.place, l.origin FROM looked_at l) w
          LEFT JOIN LATERAL (
               SELECT x.active, x.spans + '{}'::int8multirange AS spans FROM subscriptions x
                WHERE x.realm_id = p_realm_id AND x.user_id = p_user_id
                  AND x.channel_id = w.origin LIMIT 1) there ON true
          LEFT JOIN LATERAL (
               SELECT there.active WHERE w.place = w.origin
               UNION ALL
               SELECT x.active FROM subscriptions x
                WHERE w.place <> w.origin AND x.realm_id = p_realm_id AND x.user_id = p_user_id
                  AND x.channel_id = w.place LIMIT 1) here ON true
    ), conversations AS MATERIALIZED (
        SELECT w.*,
               CASE WHEN w.place = 0 THEN EXISTS (
                    SELECT FROM dm_group_members x
                     WHERE x.realm_id = p_realm_id AND x.user_id = p_user_id
                       AND x.dm_group_id = w.origin_conversation_id) END AS is_in_group,
               (SELECT x.read + '{}'::int8multirange FROM conversation_read x
                 WHERE x.realm_id = p_realm_id AND x.user_id = p_user_id
                   AND x.conversation_id = w.origin_conversation_id) AS read@named
          FROM (SELECT DISTINCT l.place, l.origin_conversation_id@conversation FROM looked_at l) w@names
    ), judged AS (
        SELECT l.*, coalesce(f.flags, 0) AS flags, g.access, g.subscribed,
               coalesce(c.is_in_group, g.spans @> l.id, false) AS received,
               (l.traits & 1 <> 0 AND l.sender_id = p_user_id)
               OR coalesce(g.read @> l.id, false)
               OR coalesce(c.read @> l.id, false)
               OR (v_mutes AND coalesce((
                   SELECT l.id < x.read_below FROM muted_users x
                    WHERE x.realm_id = p_realm_id AND x.user_id = p_user_id
                      AND x.muted_user_id = l.sender_id), false)) AS seen@of_conversation
          FROM looked_at l
          JOIN places g ON g.place = l.place AND g.origin = l.origin
          JOIN conversations c ON c.place = l.place
               AND c.origin_conversation_id = l.origin_conversation_id@same
          LEFT JOIN flagged f ON f.id = l.id
        OFFSET 0
    )
    SELECT @columns
      FROM (SELECT j.*, CASE WHEN j.place = 0 THEN j.received
                        ELSE coalesce(j.access = 2 OR (j.access = 1 AND j.received), false)
                        END AS accessible
              FROM judged j OFFSET 0) a@rest;
END $$;
$fn$;
    states jsonb := jsonb_build_object('function', $fn$message_states(
    p_realm_id bigint, p_user_id bigint, p_ids bigint[])
    RETURNS TABLE (id bigint, sender_id bigint, channel_id bigint, conversation_id bigint,
                   origin_channel_id bigint, origin_conversation_id bigint, traits integer,
                   flags integer, subscribed boolean, received boolean, seen boolean,
                   accessible boolean, unread boolean)$fn$,
    'said', '', 'declared', '', 'conversation', '', 'names', '', 'named', '',
    'of_conversation', '', 'same', '', 'rest', '',
    'columns', $fn$a.id, a.sender_id, nullif(a.place, 0), a.conversation_id,
           nullif(a.origin, 0), a.origin_conversation_id, a.traits, a.flags, a.subscribed,
           a.received, a.seen, a.accessible,
           a.accessible AND (a.flags & 1 <> 0 OR (a.received AND NOT a.seen))$fn$);
    rows jsonb := jsonb_build_object('function', $fn$message_rows(
    p_realm_id bigint, p_user_id bigint, p_ids bigint[], p_rendered boolean)
    RETURNS TABLE (id bigint, sender_id bigint, channel_id bigint, conversation_id bigint,
                   topic text, user_ids bigint[], sent_at bigint, edited_at bigint,
                   traits integer, client text, content text, edit_history jsonb,
                   reactions text, submessages text, flag_bits integer, received boolean,
                   unread boolean)$fn$,
    'said', $fn$,
               x.sent_at, x.edited_at, x.client, x.edit_history, x.renames_before,
               CASE WHEN p_rendered THEN x.rendered_content ELSE x.content END AS content$fn$,
    'declared', $fn$
    -- Each is looked up by itself: a plan made for an empty table cannot read all of a full one.
    v_reacted bigint[] := ARRAY(
        SELECT i FROM unnest(p_ids) AS i
         CROSS JOIN LATERAL (
               SELECT FROM reactions x
                WHERE x.realm_id = p_realm_id AND x.message_id = i LIMIT 1) x);
    v_built_on bigint[] := CASE WHEN EXISTS (
        SELECT FROM submessages x
         WHERE x.realm_id = p_realm_id AND x.message_id >= (SELECT min(i) FROM unnest(p_ids) AS i)
           AND x.message_id <= (SELECT max(i) FROM unnest(p_ids) AS i)) THEN ARRAY(
        SELECT i FROM unnest(p_ids) AS i
         CROSS JOIN LATERAL (
               SELECT FROM submessages x
                WHERE x.realm_id = p_realm_id AND x.message_id = i LIMIT 1) x) ELSE '{}' END;$fn$,
    'conversation', ', l.conversation_id',
    'names', $fn$
          LEFT JOIN LATERAL (
               SELECT x.name, x.renames FROM topics x
                WHERE w.place <> 0
                  AND x.realm_id = p_realm_id AND x.topic_id = w.conversation_id LIMIT 1) t ON true$fn$,
    'named', $fn$,
               t.name, t.renames, CASE WHEN w.place = 0 THEN (
                    SELECT x.user_ids FROM dm_groups x
                     WHERE x.realm_id = p_realm_id
                       AND x.dm_group_id = w.conversation_id) END AS user_ids$fn$,
    'of_conversation', ', c.name, c.renames, c.user_ids',
    'same', ' AND c.conversation_id = l.conversation_id',
    'columns', $fn$a.id, a.sender_id, nullif(a.place, 0), a.conversation_id, a.name, a.user_ids,
           floor(date_part('epoch', a.sent_at))::bigint,
           floor(date_part('epoch', a.edited_at))::bigint, a.traits, a.client, a.content,
           CASE WHEN a.renames IS NULL THEN a.edit_history
                ELSE whole_history(a.id, a.renames_before, a.edit_history, a.renames) END,
           CASE WHEN a.id = ANY (v_reacted) THEN (
                SELECT json_agg(json_build_object(
                           'user_id', x.user_id, 'reaction_type', x.reaction_type,
                           'emoji_code', x.emoji_code, 'emoji_name', x.emoji_name)
                           ORDER BY x.position)::text
                  FROM reactions x WHERE x.realm_id = p_realm_id AND x.message_id = a.id) END,
           CASE WHEN a.id = ANY (v_built_on) THEN (
                SELECT json_agg(json_build_object(
                           'id', x.id, 'message_id', x.message_id, 'sender_id', x.sender_id,
                           'msg_type', x.msg_type, 'content', x.content) ORDER BY x.id)::text
                  FROM submessages x WHERE x.realm_id = p_realm_id AND x.message_id = a.id) END,
           a.flags, a.received,
           a.flags & 1 <> 0 OR (a.received AND NOT a.seen)$fn$,
    'rest', $fn$
     WHERE a.accessible
     ORDER BY a.id$fn$);
    made jsonb;
    part record;
    text text;
BEGIN
    FOREACH made IN ARRAY ARRAY[states, rows] LOOP
        text := template;
        FOR part IN SELECT * FROM jsonb_each_text(made) LOOP
            text := replace(text, '@' || part.key, part.value);
        END LOOP;
        EXECUTE text;
    END LOOP;
END $do$;

-- As it was, but that what the reader is subscribed to is read once, and not again for each channel.
CREATE OR REPLACE FUNCTION history_sources(
    p_realm_id bigint, p_user_id bigint, p_scope text, p_channel_ids bigint[],
    p_conversation_ids bigint[], OUT r_channels bigint[], OUT r_partial_channels bigint[],
    OUT r_conversations bigint[], OUT r_partial_conversations bigint[], OUT r_extra bigint[])
    RETURNS record
    LANGUAGE plpgsql STABLE
    SET plan_cache_mode = force_generic_plan
    SET jit = off
    AS $$
DECLARE
    v_role smallint;
BEGIN
    r_channels := '{}';
    r_partial_channels := '{}';
    r_conversations := '{}';
    r_partial_conversations := '{}';
    r_extra := '{}';
    IF p_scope = 'feed' THEN
        v_role := coalesce((SELECT u.role FROM users u
                             WHERE u.realm_id = p_realm_id AND u.user_id = p_user_id), 600);
        SELECT coalesce(array_agg(a.channel_id) FILTER (WHERE a.access = 2), '{}'),
               coalesce(array_agg(a.channel_id) FILTER (WHERE a.access = 1), '{}')
          INTO r_channels, r_partial_channels
          FROM (SELECT s.channel_id, (
                       SELECT channel_access(p_user_id, v_role, s.active, c) FROM channels c
                        WHERE c.realm_id = p_realm_id AND c.channel_id = s.channel_id) AS access
                  FROM subscriptions s
                 WHERE s.realm_id = p_realm_id AND s.user_id = p_user_id AND s.active OFFSET 0) a;
        -- What they starred or reacted to elsewhere is part of their history.
        r_extra := ARRAY(
            SELECT f.message_id FROM message_flags f
             WHERE f.realm_id = p_realm_id AND f.user_id = p_user_id AND f.flags & 32 <> 0);
        IF r_extra <> '{}' THEN
            r_extra := ARRAY(SELECT s.id FROM message_states(p_realm_id, p_user_id, r_extra) s
                              WHERE s.accessible AND NOT s.subscribed);
        END IF;
    END IF;
    IF p_scope IN ('feed', 'direct') THEN
        r_conversations := ARRAY(
            SELECT g.dm_group_id FROM dm_group_members g
             WHERE g.realm_id = p_realm_id AND g.user_id = p_user_id
               AND (p_conversation_ids IS NULL OR g.dm_group_id = ANY (p_conversation_ids)));
    ELSIF p_conversation_ids IS NULL THEN
        SELECT coalesce(array_agg(a.channel_id) FILTER (WHERE a.access = 2), '{}'),
               coalesce(array_agg(a.channel_id) FILTER (WHERE a.access = 1), '{}')
          INTO r_channels, r_partial_channels
          FROM reader_access(p_realm_id, p_user_id, p_channel_ids) a;
    ELSE
        WITH wanted AS MATERIALIZED (
            SELECT t.topic_id, t.channel_id FROM topics t
             WHERE t.realm_id = p_realm_id AND t.topic_id = ANY (p_conversation_ids)
               AND (p_channel_ids IS NULL OR t.channel_id = ANY (p_channel_ids))
        )
        SELECT coalesce(array_agg(w.topic_id) FILTER (WHERE a.access = 2), '{}'),
               coalesce(array_agg(w.topic_id) FILTER (WHERE a.access = 1), '{}')
          INTO r_conversations, r_partial_conversations
          FROM reader_access(p_realm_id, p_user_id,
                             ARRAY(SELECT DISTINCT v.channel_id FROM wanted v)) a
          JOIN wanted w ON w.channel_id = a.channel_id;
        r_conversations := r_conversations || ARRAY(
            SELECT g.dm_group_id FROM dm_group_members g
             WHERE g.realm_id = p_realm_id AND g.user_id = p_user_id
               AND g.dm_group_id = ANY (p_conversation_ids) AND p_channel_ids IS NULL);
    END IF;
END $$;

-- walk_before and walk_after as they were, but that they stop where the page is full.
DO $do$
DECLARE
    template text := $fn$
CREATE OR REPLACE FUNCTION walk_%1$s(
    p_realm_id bigint, p_user_id bigint, p_channels bigint[], p_partial_channels bigint[],
    p_conversations bigint[], p_extra bigint[], p_edge bigint, p_limit bigint)
    RETURNS bigint[]
    LANGUAGE plpgsql STABLE
    SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off
    SET enable_bitmapscan = off
    SET jit = off
    AS $$
DECLARE
    v_most bigint := 2 * p_limit + 50;
    v_ids bigint[] := ARRAY(
        SELECT w.id
          FROM (SELECT m.id,
                       m.channel_id IN (SELECT unnest(p_channels))
                       OR m.conversation_id IN (SELECT unnest(p_conversations))
                       OR m.id IN (SELECT unnest(p_extra))
                       OR (m.channel_id IN (SELECT unnest(p_partial_channels))
                           AND (SELECT s.spans @> m.id FROM subscriptions s
                                 WHERE s.realm_id = p_realm_id AND s.user_id = p_user_id
                                   AND s.channel_id = m.origin_channel_id)) AS is_wanted
                  FROM messages m
                 WHERE m.realm_id = p_realm_id AND m.id %2$s p_edge
                 ORDER BY m.id %3$s LIMIT v_most) w
         WHERE w.is_wanted ORDER BY w.id %3$s LIMIT p_limit);
BEGIN
    IF cardinality(v_ids) < p_limit AND (
            SELECT count(*) FROM (
                SELECT FROM messages m WHERE m.realm_id = p_realm_id AND m.id %2$s p_edge
                 ORDER BY m.id %3$s LIMIT v_most) seen) = v_most THEN
        RETURN NULL;
    END IF;
    RETURN v_ids;
END $$;
$fn$;
BEGIN
    EXECUTE format(template, 'before', '<=', 'DESC');
    EXECUTE format(template, 'after', '>=', 'ASC');
END $do$;
