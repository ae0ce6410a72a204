-- Messages of integrations.

-- Record the newest message about a build or an alert. One that has ended is only opened by a newer
-- message.
CREATE OR REPLACE FUNCTION put_integration_message(
    p_realm_id bigint, p_bot_id bigint, p_about bytea, p_message_id bigint, p_is_open boolean,
    p_delivery bytea, p_changed_at timestamp with time zone) RETURNS void
    LANGUAGE sql
    AS $$
    INSERT INTO integration_messages AS m
           (realm_id, bot_id, about, message_id, is_open, delivery, changed_at)
    VALUES (p_realm_id, p_bot_id, p_about, p_message_id, p_is_open, p_delivery, p_changed_at)
        ON CONFLICT (realm_id, bot_id, about) DO UPDATE
       SET message_id = excluded.message_id, is_open = excluded.is_open,
           delivery = excluded.delivery, changed_at = excluded.changed_at
     WHERE m.message_id < excluded.message_id OR m.is_open
$$;

-- Set the buttons of a locked message: they are a submessage of their own type. p_id: its id, if it
-- is new.
CREATE OR REPLACE FUNCTION put_message_buttons(
    p_realm_id bigint, p_message_id bigint, p_id bigint, p_sender_id bigint, p_buttons text)
    RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    UPDATE submessages SET content = p_buttons
     WHERE realm_id = p_realm_id AND message_id = p_message_id AND msg_type = 'buttons';
    IF NOT FOUND THEN
        INSERT INTO submessages (realm_id, message_id, id, sender_id, msg_type, content)
        VALUES (p_realm_id, p_message_id, p_id, p_sender_id, 'buttons', p_buttons);
        UPDATE messages SET traits = traits | {HAS_BUTTONS}
         WHERE realm_id = p_realm_id AND id = p_message_id AND traits & {HAS_BUTTONS} = 0;
    END IF;
END $$;
