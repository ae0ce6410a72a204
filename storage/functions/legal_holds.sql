-- What legal holds cover.

CREATE OR REPLACE FUNCTION has_holds(p_realm_id bigint) RETURNS boolean
    LANGUAGE sql STABLE AS $$
    SELECT EXISTS (SELECT FROM legal_holds h
                    WHERE h.realm_id = p_realm_id AND h.released_at IS NULL)
$$;

-- Whether a hold covers the message: by its sender, a participant, or a channel that it is or was in.
CREATE OR REPLACE FUNCTION is_held(m messages) RETURNS boolean
    LANGUAGE sql STABLE AS $$
    SELECT EXISTS (
        SELECT FROM legal_holds h
         WHERE h.realm_id = m.realm_id AND h.released_at IS NULL
           AND (h.sent_from IS NULL OR m.sent_at >= h.sent_from)
           AND (h.sent_until IS NULL OR m.sent_at < h.sent_until)
           AND (h.is_realm_wide
                OR m.sender_id = ANY (h.user_ids)
                OR m.channel_id = ANY (h.channel_ids)
                OR m.origin_channel_id = ANY (h.channel_ids)
                OR m.edit_history IS NOT NULL AND cardinality(h.channel_ids) > 0 AND EXISTS (
                       SELECT FROM jsonb_array_elements(m.edit_history) e
                        WHERE (e ->> 'prev_stream')::bigint = ANY (h.channel_ids))
                OR m.channel_id IS NULL AND EXISTS (
                       SELECT FROM dm_groups d
                        WHERE d.realm_id = m.realm_id AND d.dm_group_id = m.conversation_id
                          AND d.user_ids && h.user_ids)))
$$;

-- The same of a message in the archive.
CREATE OR REPLACE FUNCTION is_held_in_archive(e expired_messages) RETURNS boolean
    LANGUAGE sql STABLE AS $$
    SELECT has_holds(e.realm_id) AND is_held(jsonb_populate_record(NULL::messages, e.message))
$$;

-- Whether a hold covers the file: by its owner, or by a message that holds it or has held it.
CREATE OR REPLACE FUNCTION is_file_held(a attachments) RETURNS boolean
    LANGUAGE sql STABLE AS $$
    SELECT has_holds(a.realm_id) AND (
        EXISTS (SELECT FROM legal_holds h
                 WHERE h.realm_id = a.realm_id AND h.released_at IS NULL
                   AND (h.is_realm_wide OR a.owner_id = ANY (h.user_ids))
                   AND (h.sent_from IS NULL OR a.created_at >= h.sent_from)
                   AND (h.sent_until IS NULL OR a.created_at < h.sent_until))
        OR EXISTS (SELECT FROM attachment_messages l
                     JOIN messages m ON m.realm_id = l.realm_id AND m.id = l.message_id
                    WHERE l.realm_id = a.realm_id AND l.attachment_id = a.attachment_id
                      AND is_held(m))
        OR EXISTS (SELECT FROM former_attachment_messages l
                     JOIN messages m ON m.realm_id = l.realm_id AND m.id = l.message_id
                    WHERE l.realm_id = a.realm_id AND l.attachment_id = a.attachment_id
                      AND is_held(m))
        OR EXISTS (SELECT FROM former_attachment_messages l
                     JOIN expired_messages e ON e.realm_id = l.realm_id AND e.id = l.message_id
                    WHERE l.realm_id = a.realm_id AND l.attachment_id = a.attachment_id
                      AND is_held_in_archive(e)))
$$;

-- Whether a hold names the user, or covers the organization.
CREATE OR REPLACE FUNCTION is_user_named_by_hold(p_realm_id bigint, p_user_id bigint) RETURNS boolean
    LANGUAGE sql STABLE AS $$
    SELECT EXISTS (SELECT FROM legal_holds h
                    WHERE h.realm_id = p_realm_id AND h.released_at IS NULL
                      AND (h.is_realm_wide OR p_user_id = ANY (h.user_ids)))
$$;

-- Whether a hold covers the user, or anything that the user has sent or uploaded. A user may have
-- many messages: is_held, which takes 7 us, is asked of those alone that have been moved.
CREATE OR REPLACE FUNCTION is_user_held(p_realm_id bigint, p_user_id bigint) RETURNS boolean
    LANGUAGE sql STABLE AS $$
    SELECT has_holds(p_realm_id) AND (
        is_user_named_by_hold(p_realm_id, p_user_id)
        OR EXISTS (
            SELECT FROM legal_holds h
              JOIN messages m ON m.realm_id = h.realm_id AND m.sender_id = p_user_id
                   AND (h.sent_from IS NULL OR m.sent_at >= h.sent_from)
                   AND (h.sent_until IS NULL OR m.sent_at < h.sent_until)
                   AND (m.channel_id = ANY (h.channel_ids)
                        OR m.origin_channel_id = ANY (h.channel_ids)
                        OR m.edit_history IS NOT NULL AND is_held(m))
             WHERE h.realm_id = p_realm_id AND h.released_at IS NULL
               AND cardinality(h.channel_ids) > 0)
        OR EXISTS (
            SELECT FROM legal_holds h
              JOIN dm_group_members g ON g.realm_id = h.realm_id AND g.user_id = p_user_id
              JOIN dm_groups d ON d.realm_id = g.realm_id AND d.dm_group_id = g.dm_group_id
                   AND d.user_ids && h.user_ids
              JOIN messages m ON m.realm_id = h.realm_id AND m.conversation_id = d.dm_group_id
                   AND m.sender_id = p_user_id
                   AND (h.sent_from IS NULL OR m.sent_at >= h.sent_from)
                   AND (h.sent_until IS NULL OR m.sent_at < h.sent_until)
             WHERE h.realm_id = p_realm_id AND h.released_at IS NULL)
        OR EXISTS (SELECT FROM expired_messages e
                    WHERE e.realm_id = p_realm_id
                      AND (e.message ->> 'sender_id')::bigint = p_user_id
                      AND is_held_in_archive(e))
        OR EXISTS (SELECT FROM attachments a
                    WHERE a.realm_id = p_realm_id AND a.owner_id = p_user_id
                      AND is_file_held(a)))
$$;

-- Whether the text of a message in the archive matches a search.
CREATE OR REPLACE FUNCTION archive_accepts(m messages, p_topic text, p_search jsonb) RETURNS boolean
    LANGUAGE sql STABLE AS $$
    SELECT search_accepts(
        m.realm_id, m.id, search_text(m.rendered_content) || E'\x01' || search_folded(p_topic),
        (p_search ->> 'language')::regconfig,
        ARRAY(SELECT jsonb_array_elements_text(p_search -> 'patterns')),
        ARRAY(SELECT jsonb_array_elements_text(p_search -> 'starts')),
        ARRAY(SELECT jsonb_array_elements_text(p_search -> 'stems')))
$$;

-- Whether a message in the archive matches the terms that narrow_filter looks at.
CREATE OR REPLACE FUNCTION archive_matches(
    e expired_messages, m messages, p_terms jsonb, p_topic text)
    RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT m.traits & (p_terms ->> 'traits')::integer = (p_terms ->> 'traits')::integer
       AND m.traits & (p_terms ->> 'not_traits')::integer = 0
       AND ((p_terms ->> 'reacted')::boolean IS NULL
            OR (p_terms ->> 'reacted')::boolean
               = (coalesce(e.context -> 'reactions', '[]') <> '[]'))
       AND m.conversation_id <> ALL (ids_of(p_terms, 'not_conversations'))
       AND (m.channel_id IS NULL OR m.channel_id <> ALL (ids_of(p_terms, 'not_channels')))
       AND m.sender_id <> ALL (ids_of(p_terms, 'not_senders'))
       AND m.id <> ALL (ids_of(p_terms, 'not_ids'))
       AND (NOT p_terms ? 'conversations'
            OR m.conversation_id = ANY (ids_of(p_terms, 'conversations')))
       AND (jsonb_typeof(p_terms -> 'search') <> 'object'
            OR archive_accepts(m, p_topic, p_terms -> 'search'))
       AND NOT EXISTS (SELECT FROM jsonb_array_elements(p_terms -> 'not_searches') AS n
                        WHERE archive_accepts(m, p_topic, n))
$$;
