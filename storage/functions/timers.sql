-- Reminders and scheduled messages.

-- Delete a reminder that was sent, and append its entry.
CREATE OR REPLACE FUNCTION reminder_sent(
    p_realm_id bigint, p_id bigint, p_audience bytea, p_body bytea, p_write_id uuid)
    RETURNS bigint
    LANGUAGE plpgsql
    AS $$
BEGIN
    DELETE FROM reminders r WHERE r.realm_id = p_realm_id AND r.reminder_id = p_id;
    IF NOT FOUND THEN RAISE EXCEPTION 'reminder % is gone', p_id; END IF;
    RETURN append_entry(p_realm_id, 'reminders/remove', p_audience, p_body, p_write_id);
END $$;

-- Delete a scheduled message that was sent, and append its entry.
CREATE OR REPLACE FUNCTION scheduled_message_sent(
    p_realm_id bigint, p_id bigint, p_audience bytea, p_body bytea, p_write_id uuid)
    RETURNS bigint
    LANGUAGE plpgsql
    AS $$
BEGIN
    DELETE FROM scheduled_messages s
     WHERE s.realm_id = p_realm_id AND s.scheduled_message_id = p_id;
    IF NOT FOUND THEN RAISE EXCEPTION 'scheduled message % is gone', p_id; END IF;
    RETURN append_entry(p_realm_id, 'scheduled_messages/remove', p_audience, p_body, p_write_id);
END $$;

-- Store why a scheduled message failed, and append its entry.
CREATE OR REPLACE FUNCTION scheduled_message_failed(
    p_realm_id bigint, p_id bigint, p_failure text, p_audience bytea, p_body bytea, p_write_id uuid)
    RETURNS bigint
    LANGUAGE plpgsql
    AS $$
BEGIN
    UPDATE scheduled_messages s SET failure = p_failure
     WHERE s.realm_id = p_realm_id AND s.scheduled_message_id = p_id;
    IF NOT FOUND THEN RAISE EXCEPTION 'scheduled message % is gone', p_id; END IF;
    RETURN append_entry(p_realm_id, 'scheduled_messages/update', p_audience, p_body, p_write_id);
END $$;
