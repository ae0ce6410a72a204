-- Accounts without a sign-in yet, and erased ones.

ALTER TABLE users
    -- How the account came to be before its person: imported, or created over the API. Null: the
    -- person has signed in, or made the account.
    ADD COLUMN stub text CONSTRAINT users_stub CHECK (stub IN ('imported', 'created')),
    -- Whether the account has been erased, and not been reactivated since.
    ADD COLUMN is_deleted boolean NOT NULL DEFAULT false;
