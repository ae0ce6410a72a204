-- Accounts and groups that a directory manages (SCIM 2.0), and the tokens of directories.
CREATE SEQUENCE scim_token_ids;

CREATE TABLE scim_tokens (
    realm_id bigint NOT NULL,
    token_id bigint NOT NULL DEFAULT nextval('scim_token_ids'),
    digest bytea NOT NULL,
    hint text NOT NULL,
    name text NOT NULL,
    -- Null: the operator.
    creator_id bigint,
    created_at timestamptz NOT NULL DEFAULT now(),
    last_used_at timestamptz,
    PRIMARY KEY (realm_id, token_id)
);
CREATE UNIQUE INDEX scim_tokens_digest ON scim_tokens (realm_id, digest);

CREATE TABLE scim_accounts (
    realm_id bigint NOT NULL,
    user_id bigint NOT NULL,
    external_id text,
    user_name text NOT NULL,
    folded_user_name text NOT NULL,
    -- What the directory said beyond the columns of users.
    attributes jsonb NOT NULL,
    -- Whether the directory has deleted the account, which is deactivated then.
    is_deleted boolean NOT NULL DEFAULT false,
    -- When the directory has deactivated the account.
    closed_at timestamptz,
    modified_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (realm_id, user_id)
);
CREATE UNIQUE INDEX scim_accounts_user_name ON scim_accounts (realm_id, folded_user_name)
    WHERE NOT is_deleted;
CREATE UNIQUE INDEX scim_accounts_external_id ON scim_accounts (realm_id, external_id)
    WHERE NOT is_deleted;
CREATE INDEX scim_accounts_closed ON scim_accounts (realm_id, closed_at)
    WHERE closed_at IS NOT NULL;

CREATE TABLE scim_groups (
    realm_id bigint NOT NULL,
    group_id bigint NOT NULL,
    external_id text,
    modified_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (realm_id, group_id)
);

-- Until when a directory may deactivate any number of accounts.
CREATE TABLE scim_allowances (
    realm_id bigint NOT NULL,
    ends_at timestamptz NOT NULL,
    PRIMARY KEY (realm_id)
);
