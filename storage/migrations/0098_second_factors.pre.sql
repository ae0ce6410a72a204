-- Second factors of sign-in: authenticator apps (TOTP), passkeys (WebAuthn) and recovery codes.
CREATE SEQUENCE second_factor_ids;

CREATE TABLE second_factors (
    realm_id bigint NOT NULL,
    factor_id bigint NOT NULL DEFAULT nextval('second_factor_ids'),
    user_id bigint NOT NULL,
    kind text NOT NULL,
    name text NOT NULL,
    -- Of an authenticator app: its encrypted secret, and the time step of the last accepted code.
    secret bytea,
    last_step bigint,
    -- Of a passkey.
    credential_id bytea,
    public_key bytea,
    sign_count bigint,
    created_at timestamptz NOT NULL DEFAULT now(),
    last_used_at timestamptz,
    PRIMARY KEY (realm_id, factor_id),
    CONSTRAINT second_factors_kind CHECK (
        kind = 'totp' AND num_nonnulls(secret, last_step) = 2
            AND num_nonnulls(credential_id, public_key, sign_count) = 0
        OR kind = 'passkey' AND num_nonnulls(secret, last_step) = 0
            AND num_nonnulls(credential_id, public_key, sign_count) = 3)
);
CREATE INDEX second_factors_of_user ON second_factors (realm_id, user_id);
CREATE UNIQUE INDEX second_factors_credential ON second_factors (realm_id, credential_id);

CREATE TABLE recovery_codes (
    realm_id bigint NOT NULL,
    user_id bigint NOT NULL,
    digest bytea NOT NULL,
    used_at timestamptz,
    PRIMARY KEY (realm_id, user_id, digest)
);

-- Until when users who need a second factor may sign in without one.
CREATE TABLE second_factor_deadlines (
    realm_id bigint NOT NULL,
    user_id bigint NOT NULL,
    ends_at timestamptz NOT NULL,
    PRIMARY KEY (realm_id, user_id)
);
