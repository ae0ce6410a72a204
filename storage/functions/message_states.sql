-- How messages stand to their readers.

-- State of each message for the user beside it (both arrays form pairs). `received` and `seen`
-- depend on where it was sent, `accessible` on where it is now. `seen`: covered by a read set of
-- that place, sent by the user as read, sent by a user whom the reader mutes or muted then, or a
-- notice that is read at once.
CREATE OR REPLACE FUNCTION reader_states(p_realm_id bigint, p_user_ids bigint[], p_ids bigint[])
    RETURNS TABLE (user_id bigint, id bigint, sender_id bigint, channel_id bigint,
                   conversation_id bigint, origin_channel_id bigint, origin_conversation_id bigint,
                   traits integer, flags integer, subscribed boolean, received boolean,
                   seen boolean, accessible boolean, unread boolean)
    LANGUAGE plpgsql STABLE ROWS 100
    SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off
    SET jit = off
    AS $$
#variable_conflict use_column
BEGIN
    -- One look-up per message, and a few per conversation of a reader. OFFSET 0 and LIMIT keep the
    -- planner from moving look-ups; adding the empty multirange makes a set a value in memory that
    -- is not unpacked for each message.
    RETURN QUERY
    WITH pairs AS MATERIALIZED (
        -- The planner expects so many rows of a series that it hashes the joins below.
        SELECT p_user_ids[n] AS user_id, p_ids[n] AS id
          FROM generate_series(1, cardinality(p_ids)) AS n
    ), flagged AS MATERIALIZED (
        SELECT r.user_id, f.message_id AS id, f.flags
          FROM (SELECT p.user_id, array_agg(p.id) AS ids FROM pairs p GROUP BY p.user_id) r
         CROSS JOIN LATERAL (
               SELECT x.message_id, x.flags FROM message_flags x
                WHERE x.realm_id = p_realm_id AND x.user_id = r.user_id
                  AND x.message_id = ANY (r.ids) OFFSET 0) f
    ), looked_at AS MATERIALIZED (
        SELECT p.user_id, m.*
          FROM pairs p
          JOIN (SELECT x.id, x.sender_id, x.conversation_id, x.origin_conversation_id, x.traits, x.entered_at,
                       coalesce(x.channel_id, 0) AS place,
                       coalesce(x.origin_channel_id, 0) AS origin
                  FROM (SELECT DISTINCT i FROM unnest(p_ids) AS i) w
                 CROSS JOIN LATERAL (
                       SELECT y.* FROM messages y
                        WHERE (y.realm_id, y.id) >= (p_realm_id, w.i)
                        ORDER BY y.realm_id, y.id LIMIT 1) x
                 WHERE x.realm_id = p_realm_id AND x.id = w.i OFFSET 0) m ON m.id = p.id
    ), grounds AS MATERIALIZED (
        SELECT w.user_id, w.place, w.origin, w.origin_conversation_id, there.spans, here.spans AS spans_here,
               w.place = 0 OR coalesce(here.active, false) AS subscribed,
               CASE WHEN w.place = 0 THEN EXISTS (
                    SELECT FROM dm_group_members x
                     WHERE x.realm_id = p_realm_id AND x.user_id = w.user_id
                       AND x.dm_group_id = w.origin_conversation_id) END AS is_in_group,
               CASE WHEN w.place <> 0 THEN (
                    SELECT channel_access(w.user_id, u.role, here.active, x) FROM channels x
                     WHERE x.realm_id = p_realm_id AND x.channel_id = w.place) END AS access,
               (SELECT x.read + '{}'::int8multirange FROM channel_read x
                 WHERE x.realm_id = p_realm_id AND x.user_id = w.user_id
                   AND x.channel_id = w.origin) AS place_read,
               (SELECT x.read + '{}'::int8multirange FROM conversation_read x
                 WHERE x.realm_id = p_realm_id AND x.user_id = w.user_id
                   AND x.conversation_id = w.origin_conversation_id) AS conversation_read,
               EXISTS (SELECT FROM muted_users x
                        WHERE x.realm_id = p_realm_id AND x.user_id = w.user_id) AS mutes
          FROM (SELECT DISTINCT l.user_id, l.place, l.origin, l.origin_conversation_id
                  FROM looked_at l) w
          LEFT JOIN LATERAL (
               SELECT x.role FROM users x
                WHERE x.realm_id = p_realm_id AND x.user_id = w.user_id LIMIT 1) u ON true
          LEFT JOIN LATERAL (
               SELECT x.active, x.spans + '{}'::int8multirange AS spans FROM subscriptions x
                WHERE x.realm_id = p_realm_id AND x.user_id = w.user_id
                  AND x.channel_id = w.origin LIMIT 1) there ON true
          LEFT JOIN LATERAL (
               SELECT there.active, there.spans WHERE w.place = w.origin
               UNION ALL
               SELECT x.active, x.spans + '{}'::int8multirange FROM subscriptions x
                WHERE w.place <> w.origin AND x.realm_id = p_realm_id AND x.user_id = w.user_id
                  AND x.channel_id = w.place LIMIT 1) here ON true
    ), judged AS (
        SELECT l.*, coalesce(f.flags, 0) AS flags, g.access, g.subscribed,
               coalesce(g.is_in_group, g.spans @> l.id, false) AS received,
               coalesce(g.spans_here @> l.entered_at, false) AS was_here,
               (l.traits & {READ_BY_SENDER} <> 0 AND l.sender_id = l.user_id)
               OR (l.traits & {TELLS_OF_RESOLVING} <> 0 AND NOT notices_unread(p_realm_id, l.user_id) @> l.id)
               OR coalesce(g.place_read @> l.id, false)
               OR coalesce(g.conversation_read @> l.id, false)
               OR (g.mutes AND coalesce((
                   SELECT l.id < x.read_below FROM muted_users x
                    WHERE x.realm_id = p_realm_id AND x.user_id = l.user_id
                      AND x.muted_user_id = l.sender_id), false)) AS seen
          FROM looked_at l
          JOIN grounds g ON g.user_id = l.user_id AND g.place = l.place AND g.origin = l.origin
               AND g.origin_conversation_id = l.origin_conversation_id
          LEFT JOIN flagged f ON f.user_id = l.user_id AND f.id = l.id
        OFFSET 0
    )
    SELECT a.user_id, a.id, a.sender_id, nullif(a.place, 0), a.conversation_id,
           nullif(a.origin, 0), a.origin_conversation_id, a.traits, a.flags, a.subscribed,
           a.received, a.seen, a.accessible,
           a.accessible AND (a.flags & {UNREAD} <> 0 OR (a.received AND NOT a.seen))
      FROM (SELECT j.*, CASE WHEN j.place = 0 THEN j.received
                        ELSE coalesce(j.access = 2 OR (j.access = 1 AND (j.received OR j.was_here)), false)
                        END AS accessible
              FROM judged j OFFSET 0) a;
END $$;

-- message_states returns what reader_states does, for one user, each message once. message_rows
-- returns the messages that the user may read, by id, with everything shown of them. One text makes
-- both, so that reading and marking follow the same rules.
-- @each kind = states | rows
-- @only states
CREATE OR REPLACE FUNCTION message_states(
    p_realm_id bigint, p_user_id bigint, p_ids bigint[])
-- @only rows
CREATE OR REPLACE FUNCTION message_rows(
    p_realm_id bigint, p_user_id bigint, p_ids bigint[], p_rendered boolean)
-- @all
    RETURNS TABLE (id bigint, sender_id bigint, channel_id bigint, conversation_id bigint,
-- @only states
                   origin_channel_id bigint, origin_conversation_id bigint, traits integer,
                   flags integer, subscribed boolean, received boolean, seen boolean,
                   accessible boolean, unread boolean)
-- @only rows
                   topic text, user_ids bigint[], sent_at bigint, edited_at bigint,
                   traits integer, client text, content text, edit_history jsonb,
                   reactions text, submessages text, flag_bits integer, received boolean,
                   unread boolean)
-- @all
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
                                WHERE x.realm_id = p_realm_id AND x.user_id = p_user_id);
-- @only rows
    -- One look-up each: a plan made while the table was empty must not scan a full one.
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
                WHERE x.realm_id = p_realm_id AND x.message_id = i LIMIT 1) x) ELSE '{}' END;
-- @all
BEGIN
    RETURN QUERY
    WITH looked_at AS MATERIALIZED (
        SELECT x.id, x.sender_id, x.conversation_id, x.origin_conversation_id, x.traits, x.entered_at,
-- @only states
               coalesce(x.channel_id, 0) AS place, coalesce(x.origin_channel_id, 0) AS origin
-- @only rows
               coalesce(x.channel_id, 0) AS place, coalesce(x.origin_channel_id, 0) AS origin,
               x.sent_at, x.edited_at, x.client, x.edit_history, x.renames_before,
               CASE WHEN p_rendered THEN x.rendered_content ELSE x.content END AS content
-- @all
          FROM messages x
         WHERE x.realm_id = p_realm_id AND x.id = ANY (p_ids)
    ), flagged AS MATERIALIZED (
        SELECT x.message_id AS id, x.flags FROM message_flags x
         WHERE x.realm_id = p_realm_id AND x.user_id = p_user_id AND x.message_id = ANY (p_ids)
    ), places AS MATERIALIZED (
        SELECT w.place, w.origin, there.spans, here.spans AS spans_here,
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
               SELECT there.active, there.spans WHERE w.place = w.origin
               UNION ALL
               SELECT x.active, x.spans + '{}'::int8multirange FROM subscriptions x
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
-- @only states
                   AND x.conversation_id = w.origin_conversation_id) AS read
          FROM (SELECT DISTINCT l.place, l.origin_conversation_id FROM looked_at l) w
-- @only rows
                   AND x.conversation_id = w.origin_conversation_id) AS read,
               t.name, t.renames, CASE WHEN w.place = 0 THEN (
                    SELECT x.user_ids FROM dm_groups x
                     WHERE x.realm_id = p_realm_id
                       AND x.dm_group_id = w.conversation_id) END AS user_ids
          FROM (SELECT DISTINCT l.place, l.origin_conversation_id, l.conversation_id FROM looked_at l) w
          LEFT JOIN LATERAL (
               SELECT x.name, x.renames FROM topics x
                WHERE w.place <> 0
                  AND x.realm_id = p_realm_id AND x.topic_id = w.conversation_id LIMIT 1) t ON true
-- @all
    ), judged AS (
        SELECT l.*, coalesce(f.flags, 0) AS flags, g.access, g.subscribed,
               coalesce(c.is_in_group, g.spans @> l.id, false) AS received,
               coalesce(g.spans_here @> l.entered_at, false) AS was_here,
               (l.traits & {READ_BY_SENDER} <> 0 AND l.sender_id = p_user_id)
               OR (l.traits & {TELLS_OF_RESOLVING} <> 0 AND NOT notices_unread(p_realm_id, p_user_id) @> l.id)
               OR coalesce(g.read @> l.id, false)
               OR coalesce(c.read @> l.id, false)
               OR (v_mutes AND coalesce((
                   SELECT l.id < x.read_below FROM muted_users x
                    WHERE x.realm_id = p_realm_id AND x.user_id = p_user_id
-- @only states
                      AND x.muted_user_id = l.sender_id), false)) AS seen
-- @only rows
                      AND x.muted_user_id = l.sender_id), false)) AS seen, c.name, c.renames, c.user_ids
-- @all
          FROM looked_at l
          JOIN places g ON g.place = l.place AND g.origin = l.origin
          JOIN conversations c ON c.place = l.place
-- @only states
               AND c.origin_conversation_id = l.origin_conversation_id
-- @only rows
               AND c.origin_conversation_id = l.origin_conversation_id AND c.conversation_id = l.conversation_id
-- @all
          LEFT JOIN flagged f ON f.id = l.id
        OFFSET 0
    )
-- @only states
    SELECT a.id, a.sender_id, nullif(a.place, 0), a.conversation_id,
           nullif(a.origin, 0), a.origin_conversation_id, a.traits, a.flags, a.subscribed,
           a.received, a.seen, a.accessible,
           a.accessible AND (a.flags & {UNREAD} <> 0 OR (a.received AND NOT a.seen))
-- @only rows
    SELECT a.id, a.sender_id, nullif(a.place, 0), a.conversation_id, a.name, a.user_ids,
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
           a.flags & {UNREAD} <> 0 OR (a.received AND NOT a.seen)
-- @all
      FROM (SELECT j.*, CASE WHEN j.place = 0 THEN j.received
                        ELSE coalesce(j.access = 2 OR (j.access = 1 AND (j.received OR j.was_here)), false)
                        END AS accessible
-- @only states
              FROM judged j OFFSET 0) a;
-- @only rows
              FROM judged j OFFSET 0) a
     WHERE a.accessible
     ORDER BY a.id;
-- @all
END $$;
-- @end

-- Those of the messages that count as read because the user mutes their sender.
CREATE OR REPLACE FUNCTION read_by_sender(p_realm_id bigint, p_user_id bigint, p_ids bigint[])
    RETURNS bigint[]
    LANGUAGE plpgsql STABLE
    SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off
    SET jit = off
    AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM muted_users x
                    WHERE x.realm_id = p_realm_id AND x.user_id = p_user_id) THEN
        RETURN '{}';
    END IF;
    RETURN ARRAY(
        SELECT m.id FROM messages m
         WHERE m.realm_id = p_realm_id AND m.id = ANY (p_ids)
           AND EXISTS (SELECT FROM muted_users x
                        WHERE x.realm_id = p_realm_id AND x.user_id = p_user_id
                          AND x.muted_user_id = m.sender_id AND m.id < x.read_below));
END $$;

-- Those of the messages, sorted, that the user has read by sending them.
CREATE OR REPLACE FUNCTION own_among(p_realm_id bigint, p_user_id bigint, p_ids bigint[])
    RETURNS bigint[]
    LANGUAGE plpgsql STABLE
    SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off
    SET jit = off
    AS $$
BEGIN
    -- For few messages look up their senders, for many the user's messages in the range.
    IF cardinality(p_ids) < 1000 THEN
        RETURN ARRAY(SELECT m.id FROM messages m
                      WHERE m.realm_id = p_realm_id AND m.id = ANY (p_ids)
                        AND m.sender_id = p_user_id AND m.traits & {READ_BY_SENDER} <> 0);
    END IF;
    RETURN ARRAY(SELECT m.id FROM messages m
                  WHERE m.realm_id = p_realm_id AND m.sender_id = p_user_id
                    AND m.id BETWEEN p_ids[1] AND p_ids[cardinality(p_ids)]
                    AND m.traits & {READ_BY_SENDER} <> 0);
END $$;

-- Positions at which notices of resolved topics arrived unread for the user; empty without a row.
CREATE OR REPLACE FUNCTION notices_unread(p_realm_id bigint, p_user_id bigint) RETURNS int8multirange
    LANGUAGE sql STABLE
    AS $$
    SELECT coalesce(
        (SELECT n.spans FROM unread_notices n
          WHERE n.realm_id = p_realm_id AND n.user_id = p_user_id),
        (SELECT '{[0,)}'::int8multirange FROM users u
          WHERE u.realm_id = p_realm_id AND u.user_id = p_user_id
            AND u.settings ->> 'resolved_topic_notice_auto_read_policy' = 'never'),
        '{}')
$$;

-- Notices of resolved topics in these channels that were read on arrival, whether or not they have
-- a flag.
CREATE OR REPLACE FUNCTION notices_read(p_realm_id bigint, p_user_id bigint, p_channel_ids bigint[], p_from bigint,
                             p_until bigint) RETURNS bigint[]
    LANGUAGE plpgsql STABLE
    SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off
    SET jit = off
    AS $$
DECLARE
    v_found bigint[] := ARRAY(
        SELECT m.id FROM unnest(p_channel_ids) AS o(channel_id)
         CROSS JOIN LATERAL (
               SELECT m.id FROM messages m
                WHERE m.realm_id = p_realm_id AND m.channel_id = o.channel_id
                  AND m.traits & {TELLS_OF_RESOLVING} <> 0 AND m.id >= p_from AND m.id < p_until OFFSET 0) m);
BEGIN
    IF v_found = '{}' THEN
        RETURN v_found;
    END IF;
    RETURN ARRAY(SELECT i FROM unnest(v_found) AS i
                  WHERE NOT notices_unread(p_realm_id, p_user_id) @> i);
END $$;

-- Names on the wire of a reader's flags on one message.
CREATE OR REPLACE FUNCTION flag_names(p_flags integer, p_traits integer, p_received boolean, p_unread boolean)
    RETURNS jsonb
    LANGUAGE sql IMMUTABLE
    AS $$
    SELECT to_jsonb(array_remove(ARRAY[
        CASE WHEN NOT p_unread THEN 'read' END,
        CASE WHEN p_flags & {STARRED} <> 0 THEN 'starred' END,
        CASE WHEN p_flags & {COLLAPSED} <> 0 THEN 'collapsed' END,
        CASE WHEN p_flags & {HIDE_LINK_PREVIEWS} <> 0 THEN 'hide_link_previews' END,
        CASE WHEN p_flags & {MENTIONED} <> 0 THEN 'mentioned' END,
        CASE WHEN p_flags & {HAS_ALERT_WORD} <> 0 THEN 'has_alert_word' END,
        CASE WHEN p_flags & {HISTORICAL} <> 0 OR NOT p_received THEN 'historical' END,
        CASE WHEN p_flags & {TOPIC_WILDCARD_MENTIONED} <> 0 THEN 'topic_wildcard_mentioned' END,
        CASE WHEN p_received AND p_traits & {CHANNEL_WILDCARD} <> 0 THEN 'stream_wildcard_mentioned' END,
        CASE WHEN p_flags & {TOPIC_WILDCARD_MENTIONED} <> 0 OR (p_received AND p_traits & {CHANNEL_WILDCARD} <> 0)
             THEN 'wildcard_mentioned' END], NULL))
$$;

-- Whether flags and traits make a message a mention of the user: by name or group always, by a
-- wildcard only where the place is not muted.
CREATE OR REPLACE FUNCTION counts_as_mention(
    p_realm_id bigint, p_user_id bigint, p_channel_id bigint, p_conversation_id bigint,
    p_flags integer, p_traits integer, p_received boolean)
    RETURNS boolean
    LANGUAGE sql STABLE
    AS $$
    SELECT p_flags & {MENTIONED} <> 0 OR (
        (p_flags & {TOPIC_WILDCARD_MENTIONED} <> 0 OR (p_received AND p_traits & {CHANNEL_WILDCARD} <> 0))
        AND NOT place_is_muted(p_realm_id, p_user_id, p_channel_id, p_conversation_id))
$$;

-- Whether the user mutes the topic or its channel.
CREATE OR REPLACE FUNCTION place_is_muted(
    p_realm_id bigint, p_user_id bigint, p_channel_id bigint, p_topic_id bigint)
    RETURNS boolean
    LANGUAGE sql STABLE
    AS $$
    -- The topic's policy (1: muted, 2: unmuted, 3: followed) overrides its channel's muting.
    SELECT p_channel_id IS NOT NULL AND coalesce((
        SELECT t.visibility_policy = 1 FROM user_topics t
         WHERE t.realm_id = p_realm_id AND t.user_id = p_user_id AND t.topic_id = p_topic_id
           AND t.visibility_policy <> 0), (
        SELECT s.is_muted FROM subscriptions s
         WHERE s.realm_id = p_realm_id AND s.user_id = p_user_id AND s.channel_id = p_channel_id
           AND s.active), false)
$$;
