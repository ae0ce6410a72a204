-- Settings of people and of the organization: who changed what.

CREATE SEQUENCE audit_ids;

CREATE TABLE audit_log (
    realm_id bigint NOT NULL,
    audit_id bigint NOT NULL DEFAULT nextval('audit_ids'),
    -- That of the change's own entry in the log.
    position bigint NOT NULL,
    happened_at timestamptz NOT NULL DEFAULT now(),
    -- NULL: an operator, or the server by itself.
    actor_id bigint,
    -- What was done, like realm_settings_changed.
    action text NOT NULL,
    -- To what: a user, a channel, whatever the action is about. NULL: the organization.
    subject_id bigint,
    before jsonb NOT NULL,
    after jsonb NOT NULL,
    PRIMARY KEY (realm_id, audit_id)
);

CREATE INDEX audit_log_by_actor ON audit_log (realm_id, actor_id, audit_id);
CREATE INDEX audit_log_by_action ON audit_log (realm_id, action, audit_id);

-- ---------------------------------------------------------------- linkifiers and playgrounds

CREATE SEQUENCE linkifier_ids;

CREATE TABLE linkifiers (
    realm_id bigint NOT NULL,
    linkifier_id bigint NOT NULL DEFAULT nextval('linkifier_ids'),
    -- In RE2's syntax.
    pattern text NOT NULL,
    -- RFC 6570, with the names of the pattern's groups.
    url_template text NOT NULL,
    -- Where two match, the one with the lower number counts.
    sort_order integer NOT NULL,
    PRIMARY KEY (realm_id, linkifier_id),
    UNIQUE (realm_id, pattern)
);

CREATE SEQUENCE playground_ids;

CREATE TABLE playgrounds (
    realm_id bigint NOT NULL,
    playground_id bigint NOT NULL DEFAULT nextval('playground_ids'),
    name text NOT NULL,
    pygments_language text NOT NULL,
    -- RFC 6570, with {code}.
    url_template text NOT NULL,
    PRIMARY KEY (realm_id, playground_id),
    UNIQUE (realm_id, pygments_language, name)
);

-- ---------------------------------------------------------------- navigation views

CREATE SEQUENCE navigation_view_ids;

-- Places in a client that somebody keeps at hand.
CREATE TABLE navigation_views (
    realm_id bigint NOT NULL,
    user_id bigint NOT NULL,
    -- What comes behind the # in the client's address.
    fragment text NOT NULL,
    is_pinned boolean NOT NULL,
    -- NULL: the client's own name for it.
    name text,
    -- They are listed as they came.
    view_id bigint NOT NULL DEFAULT nextval('navigation_view_ids'),
    PRIMARY KEY (realm_id, user_id, fragment)
);
