-- The phones on which people want notifications.

CREATE SEQUENCE push_device_ids;

CREATE TABLE push_devices (
    realm_id bigint NOT NULL,
    user_id bigint NOT NULL,
    device_id bigint NOT NULL DEFAULT nextval('push_device_ids'),
    -- Whose service reaches it: `apns` or `fcm`.
    kind text NOT NULL CHECK (kind IN ('apns', 'fcm')),
    -- One that is sent what everybody on the way can read: its token at that service (in small
    -- letters where case means nothing), and on Apple's which app it is of.
    token text,
    app_id text,
    -- One that is sent what it alone can read: how its client calls itself, and the key for it.
    -- Its token is known to the bouncer, and not here.
    account_id bigint,
    public_key bytea,
    -- By which number the bouncer knows it; for one with a token any number says that it does.
    bouncer_id bigint,
    -- Why the bouncer did not take it.
    error_code text,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (realm_id, user_id, device_id),
    CHECK ((token IS NULL) <> (account_id IS NULL)),
    CHECK ((account_id IS NULL) = (public_key IS NULL))
);
-- A token may be longer than an index takes.
CREATE UNIQUE INDEX push_devices_token ON push_devices (realm_id, user_id, kind, md5(token))
    WHERE token IS NOT NULL;
CREATE UNIQUE INDEX push_devices_account ON push_devices (realm_id, user_id, account_id)
    WHERE account_id IS NOT NULL;
