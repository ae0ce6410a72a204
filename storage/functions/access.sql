-- What users may read of channels and topics.

-- Access of a user to a channel: 2 all messages, 1 received messages, 0 none. The database has this
-- rule here alone; Standing.reads and Standing.reads_history in the server agree with it.
CREATE OR REPLACE FUNCTION channel_access(
    p_user_id bigint, p_role smallint, p_is_subscribed boolean, p_channel channels)
    RETURNS integer
    LANGUAGE sql STABLE
    AS $$
    SELECT CASE
        WHEN p_channel.is_web_public OR (NOT p_channel.invite_only AND p_role <> 600) THEN 2
        WHEN p_is_subscribed IS NOT TRUE AND (
                 p_role = 600 OR NOT channel_grants_content(
                     p_channel.realm_id, p_user_id, p_channel.permissions)) THEN 0
        WHEN NOT p_channel.invite_only OR p_channel.history_public_to_subscribers THEN 2
        ELSE 1
    END
$$;

-- Whether a setting of the channel grants the content of a private channel to a user who is not
-- subscribed: one of GRANTS_CONTENT in server/domain/channels.py. A setting is absent (no access),
-- a group, or users and groups. A deactivated group grants nothing, and nothing through it.
CREATE OR REPLACE FUNCTION channel_grants_content(p_realm_id bigint, p_user_id bigint, p_permissions jsonb)
    RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET enable_seqscan = off
    SET jit = off
    AS $$
#variable_conflict use_column
DECLARE
    v_settings jsonb[] := ARRAY(
        SELECT p_permissions -> name
          FROM unnest(ARRAY['can_subscribe_group', 'can_add_subscribers_group']) AS name
         WHERE p_permissions ? name);
    v_role smallint;
    v_is_full boolean;
BEGIN
    IF EXISTS (SELECT FROM unnest(v_settings) AS s
                WHERE jsonb_typeof(s) = 'object'
                  AND s -> 'direct_members' @> to_jsonb(p_user_id)) THEN
        RETURN true;
    END IF;

    SELECT u.role, u.role < 400 OR now() - u.date_joined >= make_interval(
               days => coalesce((r.settings ->> 'waiting_period_threshold')::integer, 0))
      INTO v_role, v_is_full
      FROM users u JOIN realms r ON r.realm_id = p_realm_id
     WHERE u.realm_id = p_realm_id AND u.user_id = p_user_id;

    RETURN EXISTS (
        WITH RECURSIVE admitted AS (
            SELECT g.group_id, g.name, g.is_system_group
              FROM unnest(v_settings) AS s
             CROSS JOIN LATERAL jsonb_array_elements(
                   CASE WHEN jsonb_typeof(s) = 'object' THEN s -> 'direct_subgroups'
                        ELSE jsonb_build_array(s) END) AS start
              JOIN user_groups g ON g.realm_id = p_realm_id AND g.group_id = start::bigint
             WHERE NOT g.deactivated
            UNION
            SELECT g.group_id, g.name, g.is_system_group
              FROM admitted a
              JOIN group_subgroups s ON s.realm_id = p_realm_id AND s.group_id = a.group_id
              JOIN user_groups g ON g.realm_id = p_realm_id AND g.group_id = s.subgroup_id
             WHERE NOT g.deactivated)
        SELECT FROM admitted a
         WHERE CASE WHEN NOT a.is_system_group THEN EXISTS (
                   SELECT FROM group_members m
                    WHERE m.realm_id = p_realm_id AND m.group_id = a.group_id
                      AND m.user_id = p_user_id)
               ELSE CASE a.name
                   WHEN 'role:owners' THEN v_role <= 100
                   WHEN 'role:administrators' THEN v_role <= 200
                   WHEN 'role:moderators' THEN v_role <= 300
                   WHEN 'role:fullmembers' THEN v_role <= 400 AND v_is_full
                   WHEN 'role:members' THEN v_role <= 400
                   WHEN 'role:everyone' THEN v_role <= 600
                   WHEN 'role:internet' THEN v_role <= 600
                   ELSE false END
               END);
END $$;

-- Access of the user to these channels, subscribed or not. User 0 stands for readers without an
-- account, who have the access of guests without subscriptions.
CREATE OR REPLACE FUNCTION reader_access(p_realm_id bigint, p_user_id bigint, p_channel_ids bigint[])
    RETURNS TABLE (channel_id bigint, access integer)
    LANGUAGE sql STABLE
    AS $$
    SELECT c.channel_id,
           channel_access(p_user_id, coalesce(u.role, 600::smallint), s.active, c)
      FROM channels c
      LEFT JOIN users u ON u.realm_id = p_realm_id AND u.user_id = p_user_id
      LEFT JOIN subscriptions s ON s.realm_id = p_realm_id AND s.user_id = p_user_id
           AND s.channel_id = c.channel_id
     WHERE c.realm_id = p_realm_id AND c.channel_id = ANY (p_channel_ids)
$$;

-- Each channel that the user is or was subscribed to: access now, and the positions received there
-- that channel_read does not cover. Channel 0 stands for all direct messages.
CREATE OR REPLACE FUNCTION reader_channels(p_realm_id bigint, p_user_id bigint)
    RETURNS TABLE (channel_id bigint, active boolean, access integer, pending int8multirange)
    LANGUAGE sql STABLE
    AS $$
    SELECT s.channel_id, s.active,
           (SELECT channel_access(p_user_id, u.role, s.active, c)
              FROM channels c
             WHERE c.realm_id = p_realm_id AND c.channel_id = s.channel_id),
           s.spans - coalesce((SELECT r.read FROM channel_read r
                                WHERE r.realm_id = p_realm_id AND r.user_id = p_user_id
                                  AND r.channel_id = s.channel_id), '{}')
      FROM users u
      JOIN subscriptions s ON s.realm_id = p_realm_id AND s.user_id = p_user_id
     WHERE u.realm_id = p_realm_id AND u.user_id = p_user_id
    UNION ALL
    SELECT 0, true, 2,
           '{[0,)}' - coalesce((SELECT r.read FROM channel_read r
                                 WHERE r.realm_id = p_realm_id AND r.user_id = p_user_id
                                   AND r.channel_id = 0), '{}')
$$;

-- Whether a subscription span covers a message of a private channel with protected history: when it
-- was sent there, or when it was moved there.
CREATE OR REPLACE FUNCTION was_given(s subscriptions, m messages) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    -- Without a query of its own, so that it is inlined.
    SELECT (s.channel_id = m.origin_channel_id AND s.spans @> m.id)
        OR (s.channel_id = m.channel_id AND s.spans @> m.entered_at)
$$;

-- Whether the topic has an earlier message that the user may know of.
CREATE OR REPLACE FUNCTION has_earlier_message(
    p_realm_id bigint, p_user_id bigint, p_topic_id bigint, p_id bigint)
    RETURNS boolean
    LANGUAGE plpgsql STABLE
    AS $$
DECLARE
    v_spans int8multirange := '{[0,)}';
BEGIN
    SELECT s.spans INTO v_spans
      FROM topics t
      JOIN channels c ON c.realm_id = p_realm_id AND c.channel_id = t.channel_id
           AND c.invite_only AND NOT c.is_web_public AND NOT c.history_public_to_subscribers
      JOIN subscriptions s ON s.realm_id = p_realm_id AND s.user_id = p_user_id
           AND s.channel_id = t.channel_id
     WHERE t.realm_id = p_realm_id AND t.topic_id = p_topic_id;
    RETURN EXISTS (
        SELECT FROM unnest(coalesce(v_spans, '{[0,)}')) AS p(span)
         CROSS JOIN LATERAL (
               SELECT FROM messages m
                WHERE m.realm_id = p_realm_id AND m.conversation_id = p_topic_id
                  AND m.id >= lower(p.span) AND m.id < least(upper(p.span), p_id) LIMIT 1) m);
END $$;

-- Those of the users who may read nothing of the topic: they have no full access to its channel and
-- received no message of it.
CREATE OR REPLACE FUNCTION strangers_to_topic(p_realm_id bigint, p_user_ids bigint[], p_topic_id bigint)
RETURNS bigint[] LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN ARRAY(
        SELECT p.user_id
          FROM unnest(p_user_ids) AS p(user_id)
          JOIN topics t ON t.realm_id = p_realm_id AND t.topic_id = p_topic_id
         CROSS JOIN LATERAL reader_access(p_realm_id, p.user_id, ARRAY[t.channel_id]) a
         WHERE a.access < 2 AND NOT EXISTS (
               SELECT FROM messages m
                 JOIN subscriptions s ON s.realm_id = p_realm_id AND s.user_id = p.user_id
                      AND s.channel_id IN (m.origin_channel_id, m.channel_id) AND was_given(s, m)
                WHERE m.realm_id = p_realm_id AND m.conversation_id = p_topic_id));
END $$;
