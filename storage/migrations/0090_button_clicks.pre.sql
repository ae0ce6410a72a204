-- Clicks on buttons of bots' messages: delivered in their order, and answered for a while.
CREATE SEQUENCE button_click_ids;

CREATE TABLE button_clicks (
    realm_id bigint NOT NULL,
    click_id bigint NOT NULL DEFAULT nextval('button_click_ids'),
    message_id bigint NOT NULL,
    bot_id bigint NOT NULL,
    user_id bigint NOT NULL,
    local_id text NOT NULL,
    button text NOT NULL,
    button_id text NOT NULL,
    clicked_at timestamptz NOT NULL,
    is_open boolean NOT NULL DEFAULT true,
    failures smallint NOT NULL DEFAULT 0,
    not_before timestamptz,
    answer_token text NOT NULL,
    answers_left smallint NOT NULL,
    PRIMARY KEY (realm_id, click_id),
    UNIQUE (realm_id, message_id, user_id, local_id),
    UNIQUE (realm_id, answer_token)
);

CREATE INDEX open_button_clicks ON button_clicks (realm_id, message_id, click_id) WHERE is_open;
CREATE INDEX button_clicks_by_age ON button_clicks (clicked_at);
