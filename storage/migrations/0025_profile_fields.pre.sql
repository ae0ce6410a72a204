-- What an organization asks of its people, and what they say.

CREATE SEQUENCE profile_field_ids;

CREATE TABLE profile_fields (
    realm_id bigint NOT NULL,
    -- Never given twice: which fields there are says which values are still shown.
    field_id bigint NOT NULL DEFAULT nextval('profile_field_ids'),
    field_type smallint NOT NULL,
    name text NOT NULL,
    hint text NOT NULL,
    -- JSON as clients get it: the choices, or what leads to an account elsewhere. Empty: nothing.
    field_data text NOT NULL,
    required boolean NOT NULL,
    editable_by_user boolean NOT NULL,
    display_in_profile_summary boolean NOT NULL,
    sort_order integer NOT NULL,
    PRIMARY KEY (realm_id, field_id),
    UNIQUE (realm_id, name)
);

CREATE TABLE profile_values (
    realm_id bigint NOT NULL,
    user_id bigint NOT NULL,
    field_id bigint NOT NULL,
    value text NOT NULL,
    -- HTML, for fields whose text is Markdown.
    rendered_value text,
    PRIMARY KEY (realm_id, user_id, field_id)
);

CREATE INDEX profile_values_of_field ON profile_values (realm_id, field_id);
