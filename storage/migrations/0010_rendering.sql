-- What is attached to a message by the widget that it shows: a poll, a list of tasks. Its id is
-- the position at which it came, so the first one of a widget has its message's id.

CREATE TABLE submessages (
    realm_id bigint NOT NULL,
    message_id bigint NOT NULL,
    id bigint NOT NULL,
    sender_id bigint NOT NULL,
    msg_type text NOT NULL,
    content text NOT NULL,
    PRIMARY KEY (realm_id, message_id, id)
);

-- Words of whose use people want to know. A user has a word once, whatever its case.
CREATE TABLE alert_words (
    realm_id bigint NOT NULL,
    user_id bigint NOT NULL,
    word text NOT NULL,
    PRIMARY KEY (realm_id, user_id, word)
);
