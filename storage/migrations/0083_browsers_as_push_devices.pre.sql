-- Browsers get notifications beside phones, by Web Push.

ALTER TABLE push_devices
    -- Of a browser: the URL of its subscription at its push service, and the secret with which,
    -- beside `public_key`, notifications are encrypted for it.
    ADD COLUMN endpoint text,
    ADD COLUMN auth_secret bytea,
    ADD COLUMN user_agent text,
    -- Whether it may be sent what it does not show.
    ADD COLUMN wants_removals boolean NOT NULL DEFAULT false,
    -- The session in which it subscribed; NULL: it has an API key, like an app on a phone.
    ADD COLUMN session_digest bytea,
    DROP CONSTRAINT push_devices_kind_check,
    DROP CONSTRAINT push_devices_check,
    DROP CONSTRAINT push_devices_check1,
    ADD CONSTRAINT push_devices_kind CHECK (kind IN ('apns', 'fcm', 'web')),
    ADD CONSTRAINT push_devices_way CHECK (num_nonnulls(token, account_id, endpoint) = 1),
    ADD CONSTRAINT push_devices_public_key CHECK ((public_key IS NULL) = (token IS NOT NULL)),
    ADD CONSTRAINT push_devices_endpoint
        CHECK ((endpoint IS NOT NULL) = (kind = 'web')
           AND (auth_secret IS NOT NULL) = (kind = 'web')
           AND (user_agent IS NOT NULL) = (kind = 'web')),
    ADD CONSTRAINT push_devices_of_session FOREIGN KEY (realm_id, session_digest)
        REFERENCES sessions (realm_id, token_digest) ON DELETE CASCADE;
-- One browser has one subscription for an organization's address, and so for one account.
CREATE UNIQUE INDEX push_devices_browser ON push_devices (realm_id, endpoint)
    WHERE endpoint IS NOT NULL;
CREATE INDEX push_devices_session ON push_devices (realm_id, session_digest)
    WHERE session_digest IS NOT NULL;
