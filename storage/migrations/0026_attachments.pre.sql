-- Files that people upload: what is known of each, and which messages hold it.

CREATE SEQUENCE attachment_ids;

CREATE TABLE attachments (
    realm_id bigint NOT NULL,
    attachment_id bigint NOT NULL DEFAULT nextval('attachment_ids'),
    -- What stands in its address; all but its last part is the key of its content.
    path_id text NOT NULL,
    name text NOT NULL,
    content_type text NOT NULL,
    size bigint NOT NULL,
    digest bytea NOT NULL,
    owner_id bigint NOT NULL,
    created_at timestamptz NOT NULL,
    -- When a message last ceased to hold it.
    let_go_at timestamptz,
    PRIMARY KEY (realm_id, attachment_id)
);
CREATE UNIQUE INDEX attachments_path ON attachments (realm_id, path_id);
CREATE INDEX attachments_owner ON attachments (realm_id, owner_id, attachment_id);

-- Written after the clock.
CREATE TABLE attachment_messages (
    realm_id bigint NOT NULL,
    message_id bigint NOT NULL,
    attachment_id bigint NOT NULL,
    PRIMARY KEY (realm_id, message_id, attachment_id)
);
CREATE INDEX attachment_messages_attachment
    ON attachment_messages (realm_id, attachment_id, message_id);

-- How much an organization has uploaded; locked by whoever changes it.
CREATE TABLE upload_space (
    realm_id bigint NOT NULL PRIMARY KEY,
    bytes bigint NOT NULL DEFAULT 0
);

-- An attachment as clients know it.
CREATE FUNCTION shown_attachment(p_realm_id bigint, p_attachment_id bigint) RETURNS jsonb
    LANGUAGE sql STABLE AS $$
    SELECT jsonb_build_object(
               'id', a.attachment_id, 'name', a.name, 'path_id', a.path_id, 'size', a.size,
               'create_time', floor(extract(epoch FROM a.created_at) * 1000)::bigint,
               'messages', coalesce((
                   SELECT jsonb_agg(jsonb_build_object(
                              'id', m.id,
                              'date_sent', floor(extract(epoch FROM m.sent_at) * 1000)::bigint)
                              ORDER BY m.id)
                     FROM attachment_messages h
                     JOIN messages m ON m.realm_id = h.realm_id AND m.id = h.message_id
                    WHERE h.realm_id = p_realm_id AND h.attachment_id = p_attachment_id), '[]'))
      FROM attachments a
     WHERE a.realm_id = p_realm_id AND a.attachment_id = p_attachment_id
$$;

-- The owners of these learn in which messages they are now.
CREATE FUNCTION append_attachment_entries(p_realm_id bigint, p_attachment_ids bigint[])
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

-- After the clock: from now on the message holds these of the attachments that are there still.
CREATE FUNCTION set_attachments(p_realm_id bigint, p_message_id bigint, p_attachment_ids bigint[])
    RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_changed bigint[];
BEGIN
    WITH gone AS (
        DELETE FROM attachment_messages h
         WHERE h.realm_id = p_realm_id AND h.message_id = p_message_id
           AND h.attachment_id <> ALL (p_attachment_ids)
        RETURNING h.attachment_id
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

-- After the clock: these messages hold nothing any more.
CREATE FUNCTION let_attachments_go(p_realm_id bigint, p_message_ids bigint[])
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
