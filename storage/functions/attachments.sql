-- Uploaded files and the messages that hold them.

-- An attachment as clients get it, with the newest of the messages that hold it.
CREATE OR REPLACE FUNCTION shown_attachment(p_realm_id bigint, p_attachment_id bigint)
    RETURNS jsonb LANGUAGE sql STABLE AS $$
    SELECT jsonb_build_object(
               'id', a.attachment_id, 'name', a.name, 'path_id', a.path_id, 'size', a.size,
               'create_time', floor(extract(epoch FROM a.created_at))::bigint,
               'messages', coalesce((
                   SELECT jsonb_agg(jsonb_build_object(
                              'id', m.id,
                              'date_sent', floor(extract(epoch FROM m.sent_at))::bigint)
                              ORDER BY m.id)
                     FROM (SELECT h.message_id FROM attachment_messages h
                            WHERE h.realm_id = p_realm_id AND h.attachment_id = p_attachment_id
                            ORDER BY h.message_id DESC LIMIT 100) newest
                     JOIN messages m ON m.realm_id = p_realm_id AND m.id = newest.message_id),
                   '[]'),
               'message_ids', ARRAY(
                   SELECT newest.message_id
                     FROM (SELECT h.message_id FROM attachment_messages h
                            WHERE h.realm_id = p_realm_id AND h.attachment_id = p_attachment_id
                            ORDER BY h.message_id DESC LIMIT 100) newest
                    ORDER BY newest.message_id))
      FROM attachments a
     WHERE a.realm_id = p_realm_id AND a.attachment_id = p_attachment_id
$$;

-- Whether a message shows the file to the user. Looks at the newest messages first, some at a time.
CREATE OR REPLACE FUNCTION shows_attachment(p_realm_id bigint, p_user_id bigint, p_attachment_id bigint)
    RETURNS boolean LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_before bigint;
    v_ids bigint[];
BEGIN
    LOOP
        v_ids := ARRAY(SELECT h.message_id FROM attachment_messages h
                        WHERE h.realm_id = p_realm_id AND h.attachment_id = p_attachment_id
                          AND (v_before IS NULL OR h.message_id < v_before)
                        ORDER BY h.message_id DESC LIMIT 100);
        IF cardinality(v_ids) = 0 THEN
            RETURN false;
        END IF;
        IF EXISTS (SELECT FROM message_states(p_realm_id, p_user_id, v_ids) s
                    WHERE s.accessible) THEN
            RETURN true;
        END IF;
        v_before := v_ids[cardinality(v_ids)];
    END LOOP;
END $$;

-- Whether no message has needed the file since then, sent or scheduled. Texts are searched for the
-- part of its path before the name, which has no escapes.
CREATE OR REPLACE FUNCTION is_orphan(attachments, p_before timestamptz) RETURNS boolean
    LANGUAGE sql STABLE AS $$
    SELECT greatest($1.created_at, $1.let_go_at) < p_before
       AND NOT EXISTS (SELECT FROM attachment_messages h
                        WHERE h.realm_id = $1.realm_id AND h.attachment_id = $1.attachment_id)
       AND NOT is_file_held($1)
       AND NOT EXISTS (SELECT FROM scheduled_messages s
                        WHERE s.realm_id = $1.realm_id AND s.sender_id = $1.owner_id
                          AND strpos(s.content, regexp_replace($1.path_id, '[^/]*$', '')) > 0)
       AND NOT EXISTS (SELECT FROM drafts d
                        WHERE d.realm_id = $1.realm_id AND d.user_id = $1.owner_id
                          AND strpos(d.content, regexp_replace($1.path_id, '[^/]*$', '')) > 0)
       AND NOT EXISTS (SELECT FROM saved_snippets s
                        WHERE s.realm_id = $1.realm_id AND s.user_id = $1.owner_id
                          AND strpos(s.content, regexp_replace($1.path_id, '[^/]*$', '')) > 0)
$$;

-- Append an entry for each owner of these attachments: which messages hold them now.
CREATE OR REPLACE FUNCTION append_attachment_entries(p_realm_id bigint, p_attachment_ids bigint[])
    RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM append_entries(
        p_realm_id, 'attachment',
        array_agg(convert_to(jsonb_build_object('users', jsonb_build_array(a.owner_id))::text,
                             'UTF8') ORDER BY a.attachment_id),
        array_agg(convert_to(jsonb_build_object(
                'op', 'update', 'attachment', shown_attachment(p_realm_id, a.attachment_id),
                'upload_space_used', coalesce((SELECT s.bytes FROM upload_space s
                                                WHERE s.realm_id = p_realm_id), 0))::text,
                             'UTF8') ORDER BY a.attachment_id),
        gen_random_uuid())
       FROM attachments a
      WHERE a.realm_id = p_realm_id AND a.attachment_id = ANY (p_attachment_ids)
     HAVING count(*) > 0;
END $$;

-- Let the message hold those of the attachments that still exist, and no others, with the clock
-- locked.
CREATE OR REPLACE FUNCTION set_attachments(p_realm_id bigint, p_message_id bigint, p_attachment_ids bigint[])
    RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_changed bigint[];
BEGIN
    WITH gone AS (
        DELETE FROM attachment_messages h
         WHERE h.realm_id = p_realm_id AND h.message_id = p_message_id
           AND h.attachment_id <> ALL (p_attachment_ids)
        RETURNING h.attachment_id
    ), former AS (
        INSERT INTO former_attachment_messages (realm_id, attachment_id, message_id)
        SELECT p_realm_id, g.attachment_id, p_message_id FROM gone g
        ON CONFLICT DO NOTHING
    ), new AS (
        INSERT INTO attachment_messages (realm_id, message_id, attachment_id)
        SELECT a.realm_id, p_message_id, a.attachment_id FROM attachments a
         WHERE a.realm_id = p_realm_id AND a.attachment_id = ANY (p_attachment_ids)
        ON CONFLICT DO NOTHING
        RETURNING attachment_id
    )
    SELECT array_agg(c.attachment_id) INTO v_changed
      FROM (SELECT attachment_id FROM gone UNION ALL SELECT attachment_id FROM new) c;
    PERFORM append_attachment_entries(p_realm_id, v_changed);
END $$;

-- Let these messages hold no attachments, with the clock locked.
CREATE OR REPLACE FUNCTION let_attachments_go(p_realm_id bigint, p_message_ids bigint[])
    RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_changed bigint[];
BEGIN
    WITH gone AS (
        DELETE FROM attachment_messages h
         WHERE h.realm_id = p_realm_id AND h.message_id = ANY (p_message_ids)
        RETURNING h.attachment_id
    )
    SELECT array_agg(DISTINCT g.attachment_id) INTO v_changed FROM gone g;
    PERFORM append_attachment_entries(p_realm_id, v_changed);
END $$;

-- Delete an attachment unless something needs it by now, and append an entry for its owner; return
-- whether it was deleted. The clock is locked, which no message passes, and so are its row and the
-- realm's space.
CREATE OR REPLACE FUNCTION delete_orphan(
    p_realm_id bigint, p_attachment_id bigint, p_before timestamptz, p_write_id uuid)
    RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    v_gone attachments;
    v_used bigint;
BEGIN
    DELETE FROM attachments a
     WHERE a.realm_id = p_realm_id AND a.attachment_id = p_attachment_id
       AND is_orphan(a, p_before)
    RETURNING a.* INTO v_gone;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    DELETE FROM former_attachment_messages l
     WHERE l.realm_id = p_realm_id AND l.attachment_id = p_attachment_id;
    UPDATE upload_space s SET bytes = s.bytes - v_gone.size WHERE s.realm_id = p_realm_id
    RETURNING s.bytes INTO v_used;
    PERFORM append_entry(
        p_realm_id, 'attachment_removed',
        convert_to(jsonb_build_object('users', jsonb_build_array(v_gone.owner_id))::text, 'UTF8'),
        convert_to(jsonb_build_object(
            'attachment', jsonb_build_object('id', p_attachment_id),
            'upload_space_used', v_used)::text, 'UTF8'),
        p_write_id);
    RETURN true;
END $$;
