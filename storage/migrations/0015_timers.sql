-- Messages that are sent later, and reminders.

-- The ids of both are the positions at which they were asked for: no message ever has the same.
CREATE TABLE scheduled_messages (
    realm_id bigint NOT NULL,
    scheduled_message_id bigint NOT NULL,
    sender_id bigint NOT NULL,
    -- Where it goes: a topic of a channel, or (NULL) to these people, the sender among them only
    -- if there is nobody else.
    channel_id bigint,
    topic text NOT NULL,
    user_ids bigint[] NOT NULL,
    content text NOT NULL,
    rendered_content text NOT NULL,
    due_at timestamptz NOT NULL,
    read_by_sender boolean NOT NULL,
    client text NOT NULL,
    -- Why it could not be sent. NULL: it waits.
    failure text,
    PRIMARY KEY (realm_id, scheduled_message_id)
);
CREATE INDEX scheduled_messages_of_sender ON scheduled_messages (realm_id, sender_id);
CREATE INDEX scheduled_messages_of_realm ON scheduled_messages (realm_id, due_at, scheduled_message_id)
    WHERE failure IS NULL;
CREATE INDEX scheduled_messages_due ON scheduled_messages (due_at, realm_id) WHERE failure IS NULL;

CREATE TABLE reminders (
    realm_id bigint NOT NULL,
    reminder_id bigint NOT NULL,
    user_id bigint NOT NULL,
    -- NULL: it is of no message.
    message_id bigint,
    note text NOT NULL,
    content text NOT NULL,
    rendered_content text NOT NULL,
    due_at timestamptz NOT NULL,
    failure text,
    PRIMARY KEY (realm_id, reminder_id)
);
CREATE INDEX reminders_of_user ON reminders (realm_id, user_id);
CREATE INDEX reminders_of_realm ON reminders (realm_id, due_at, reminder_id) WHERE failure IS NULL;
CREATE INDEX reminders_due ON reminders (due_at, realm_id) WHERE failure IS NULL;

-- What follows from a send, in its own statement: the row was locked before the clock, so it is
-- there. If it is not, nothing of the send may be kept either.

CREATE FUNCTION scheduled_message_sent(
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

CREATE FUNCTION scheduled_message_failed(
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

CREATE FUNCTION reminder_sent(
    p_realm_id bigint, p_id bigint, p_audience bytea, p_body bytea, p_write_id uuid)
    RETURNS bigint
    LANGUAGE plpgsql
    AS $$
BEGIN
    DELETE FROM reminders r WHERE r.realm_id = p_realm_id AND r.reminder_id = p_id;
    IF NOT FOUND THEN RAISE EXCEPTION 'reminder % is gone', p_id; END IF;
    RETURN append_entry(p_realm_id, 'reminders/remove', p_audience, p_body, p_write_id);
END $$;
