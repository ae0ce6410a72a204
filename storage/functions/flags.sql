-- Flags of users on messages.

-- Body of an update_message_flags entry. p_details: message_details by message id, or null.
-- p_empty_topic_name: what clients call the empty topic that do not know it. p_all: whether all
-- other messages gain or lose the flag too.
CREATE OR REPLACE FUNCTION flag_entry_body(
    p_operation text, p_flag text, p_ids bigint[], p_all boolean DEFAULT false,
    p_details jsonb DEFAULT NULL, p_empty_topic_name text DEFAULT NULL)
    RETURNS bytea
    LANGUAGE sql STABLE
    AS $$
    SELECT convert_to(format(
        '{"type":"update_message_flags","op":%s,"operation":%1$s,"flag":%s,"messages":[%s],'
        '"all":%s%s}',
        to_json(p_operation), to_json(p_flag), array_to_string(p_ids, ','), p_all::text,
        CASE WHEN p_details IS NOT NULL THEN (
            SELECT format(',"message_details":%s%s', jsonb_object_agg(i::text, p_details -> i::text),
                          CASE WHEN bool_or(p_details -> i::text ->> 'topic' = '') THEN
                               ',"empty_topic_display_name":' || to_json(p_empty_topic_name) END)
              FROM unnest(p_ids) AS i) END), 'UTF8')
$$;

-- Append update_message_flags entries for these messages, at most 1,000 per entry; none for no
-- messages.
CREATE OR REPLACE FUNCTION append_flag_entries(
    p_realm_id bigint, p_operation text, p_flag text, p_ids bigint[], p_audience bytea,
    p_write_id uuid, p_all boolean DEFAULT false, p_details jsonb DEFAULT NULL,
    p_empty_topic_name text DEFAULT NULL)
    RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF cardinality(p_ids) > 0 THEN
        -- The slice of everything is a plain array, which is sliced without a copy.
        PERFORM append_entries(
            p_realm_id, 'update_message_flags',
            array_fill(p_audience, ARRAY[cardinality(e.bodies)]), e.bodies, p_write_id)
           FROM (SELECT array_agg(flag_entry_body(
                            p_operation, p_flag, flat.ids[block : block + 999], p_all, p_details,
                            p_empty_topic_name) ORDER BY block) AS bodies
                   FROM (SELECT p_ids[:] AS ids OFFSET 0) flat
                  CROSS JOIN generate_series(1, cardinality(p_ids), 1000) AS block) e;
    END IF;
END $$;

-- Add or remove one of the flags that users set themselves; return the changed ids. A message that
-- the user did not receive becomes part of their history (historical).
CREATE OR REPLACE FUNCTION set_message_flag(
    p_realm_id bigint, p_user_id bigint, p_ids bigint[], p_bit integer, p_name text,
    p_operation text, p_audience bytea, p_write_id uuid)
    RETURNS bigint[]
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_changed bigint[];
    v_historical integer[];
BEGIN
    SELECT coalesce(array_agg(s.id), '{}'), array_agg(CASE WHEN s.received THEN 0 ELSE 32 END)
      INTO v_changed, v_historical
      FROM (SELECT o.id, o.received FROM message_states(p_realm_id, p_user_id, p_ids) o
             WHERE o.accessible AND (o.flags & p_bit = 0) = (p_operation = 'add')
             ORDER BY o.id) s;
    IF p_operation = 'add' THEN
        INSERT INTO message_flags AS f (realm_id, user_id, message_id, flags)
        SELECT p_realm_id, p_user_id, c.id, p_bit | c.historical
          FROM unnest(v_changed, v_historical) AS c(id, historical)
        ON CONFLICT (realm_id, user_id, message_id) DO UPDATE SET flags = f.flags | excluded.flags;
    ELSE
        DELETE FROM message_flags f
         WHERE f.realm_id = p_realm_id AND f.user_id = p_user_id
           AND f.message_id = ANY (v_changed) AND f.flags = p_bit;
        UPDATE message_flags f SET flags = f.flags & ~p_bit
         WHERE f.realm_id = p_realm_id AND f.user_id = p_user_id
           AND f.message_id = ANY (v_changed) AND f.flags & p_bit <> 0;
    END IF;
    PERFORM append_flag_entries(p_realm_id, p_operation, p_name, v_changed, p_audience, p_write_id);
    RETURN v_changed;
END $$;

-- Remove the unread flag, and rows that hold nothing else.
CREATE OR REPLACE FUNCTION clear_unread_flag(p_realm_id bigint, p_user_id bigint, p_ids bigint[])
    RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    -- Few messages have the flag, however many are read.
    v_flagged bigint[] := ARRAY(
        SELECT f.message_id FROM message_flags f
         WHERE f.realm_id = p_realm_id AND f.user_id = p_user_id AND f.flags & {UNREAD} <> 0);
BEGIN
    IF v_flagged = '{}' THEN
        RETURN;
    END IF;
    v_flagged := ARRAY(SELECT unnest(v_flagged) INTERSECT SELECT unnest(p_ids));
    DELETE FROM message_flags
     WHERE realm_id = p_realm_id AND user_id = p_user_id AND message_id = ANY (v_flagged)
       AND flags = {UNREAD};
    UPDATE message_flags SET flags = flags & ~{UNREAD}
     WHERE realm_id = p_realm_id AND user_id = p_user_id AND message_id = ANY (v_flagged)
       AND flags & {UNREAD} <> 0;
END $$;

-- Add messages that the user did not receive to their history.
CREATE OR REPLACE FUNCTION mark_historical(p_realm_id bigint, p_user_id bigint, p_ids bigint[])
    RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO message_flags AS f (realm_id, user_id, message_id, flags)
    SELECT p_realm_id, p_user_id, s.id, {HISTORICAL}
      FROM message_states(p_realm_id, p_user_id, p_ids) s
     WHERE s.accessible AND NOT s.received
    ON CONFLICT (realm_id, user_id, message_id) DO UPDATE SET flags = f.flags | excluded.flags;
END $$;

-- Add to the audience of the entry just appended the flags that each user with an event queue has
-- on the message. Call it with the clock locked: queues registered later never get the entry.
CREATE OR REPLACE FUNCTION add_reader_flags(p_realm_id bigint, p_message_id bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_users bigint[] := ARRAY(
        SELECT DISTINCT q.user_id FROM event_queues q WHERE q.realm_id = p_realm_id);
    v_flags jsonb;
BEGIN
    SELECT jsonb_object_agg(s.user_id, flag_names(s.flags, s.traits, s.received, s.unread))
      INTO v_flags
      FROM reader_states(p_realm_id, v_users,
                         array_fill(p_message_id, ARRAY[cardinality(v_users)])) s
     WHERE s.accessible;
    IF v_flags IS NOT NULL THEN
        UPDATE event_log l
           SET audience = convert_to((convert_from(l.audience, 'UTF8')::jsonb
                              || jsonb_build_object('flags', v_flags))::text, 'UTF8')
         WHERE l.realm_id = p_realm_id AND l.position = current_position()
           AND l.day = current_setting('parley.day')::date AND l.audience <> '';
    END IF;
END $$;

-- Replace the flags that follow from a message's text, after an edit. Users who did not receive the
-- message get none. Call it with the clock locked.
CREATE OR REPLACE FUNCTION set_content_flags(
    p_realm_id bigint, p_message_id bigint, p_user_ids bigint[], p_flags integer[])
    RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    UPDATE message_flags f
       SET flags = f.flags & ~{MENTIONED | HAS_ALERT_WORD | TOPIC_WILDCARD_MENTIONED}
     WHERE f.realm_id = p_realm_id AND f.message_id = p_message_id AND f.flags & {MENTIONED | HAS_ALERT_WORD | TOPIC_WILDCARD_MENTIONED} <> 0;
    INSERT INTO message_flags AS f (realm_id, user_id, message_id, flags)
    SELECT p_realm_id, n.user_id, m.id, n.flags
      FROM messages m
     CROSS JOIN unnest(p_user_ids, p_flags) AS n(user_id, flags)
     WHERE m.realm_id = p_realm_id AND m.id = p_message_id AND n.flags <> 0
       AND (m.channel_id IS NULL OR EXISTS (
            SELECT FROM subscriptions s
             WHERE s.realm_id = p_realm_id AND s.user_id = n.user_id
               AND s.channel_id = m.origin_channel_id AND s.spans @> m.id))
    ON CONFLICT (realm_id, user_id, message_id) DO UPDATE SET flags = f.flags | excluded.flags;
    DELETE FROM message_flags f
     WHERE f.realm_id = p_realm_id AND f.message_id = p_message_id AND f.flags = 0;
END $$;
