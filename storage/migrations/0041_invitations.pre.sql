-- Who has been asked to join, by whom, and as what. What was taken up or taken back stays for a
-- while, so that its link can say so.
CREATE SEQUENCE invitation_ids;

CREATE TABLE invitations (
    realm_id bigint NOT NULL,
    invitation_id bigint NOT NULL DEFAULT nextval('invitation_ids'),
    inviter_id bigint NOT NULL,
    -- NULL: a link that anybody may use who has it.
    email text,
    -- The link by which somebody has asked for this one themselves.
    by_link bigint,
    role integer NOT NULL,
    channel_ids bigint[] NOT NULL,
    group_ids bigint[] NOT NULL,
    includes_defaults boolean NOT NULL,
    -- NULL: the organization's.
    welcome_text text,
    tells_inviter boolean NOT NULL,
    invited_at timestamptz NOT NULL,
    -- NULL: never.
    ends_at timestamptz,
    state text NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'accepted', 'revoked')),
    -- Tokens are in mails alone: here is what tells them, one for each time that it was written.
    token_digests bytea[] NOT NULL DEFAULT '{}',
    mails integer NOT NULL DEFAULT 0,
    mailed_at timestamptz,
    PRIMARY KEY (realm_id, invitation_id)
);

CREATE INDEX invitations_mailed ON invitations (realm_id, mailed_at);
CREATE INDEX invitations_email ON invitations (realm_id, lower(email)) WHERE state = 'open';
