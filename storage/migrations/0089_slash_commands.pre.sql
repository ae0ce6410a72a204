-- Slash commands that call the service of an outgoing webhook bot.
CREATE SEQUENCE slash_command_ids;

CREATE TABLE slash_commands (
    realm_id bigint NOT NULL,
    command_id bigint NOT NULL DEFAULT nextval('slash_command_ids'),
    name text NOT NULL,
    folded_name text NOT NULL,
    description text NOT NULL,
    parameter_hint text NOT NULL,
    bot_id bigint NOT NULL,
    PRIMARY KEY (realm_id, command_id),
    UNIQUE (realm_id, folded_name)
);
