-- Devices that clients register as such, and only then give a key and a token for notifications.

ALTER TABLE push_devices
    ADD COLUMN is_client_device boolean NOT NULL DEFAULT false,
    -- The secret with which its notifications are encrypted, and the client's number for it.
    ADD COLUMN push_key bytea,
    ADD COLUMN push_key_id bigint,
    -- A token by its hash, which is all that is known of it here: the one that the bouncer has
    -- taken, and the one that it has been asked to take.
    ADD COLUMN push_token_id bytea,
    ADD COLUMN pending_push_token_id bytea,
    -- When a client last gave the token.
    ADD COLUMN push_token_changed_at timestamptz,
    ALTER COLUMN kind DROP NOT NULL,
    DROP CONSTRAINT push_devices_way,
    DROP CONSTRAINT push_devices_public_key,
    ADD CONSTRAINT push_devices_way
        CHECK (num_nonnulls(token, account_id, endpoint) + is_client_device::int = 1),
    ADD CONSTRAINT push_devices_public_key
        CHECK ((public_key IS NULL) = (token IS NOT NULL OR is_client_device)),
    ADD CONSTRAINT push_devices_of_a_kind
        CHECK (kind IS NOT NULL
               OR is_client_device AND num_nonnulls(push_token_id, pending_push_token_id) = 0),
    ADD CONSTRAINT push_devices_push_key
        CHECK ((push_key IS NULL) = (push_key_id IS NULL)
           AND (push_key IS NOT NULL
                OR num_nonnulls(push_token_id, pending_push_token_id) = 0)
           AND (is_client_device OR push_key IS NULL));
