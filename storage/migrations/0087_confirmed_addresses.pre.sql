-- Whether it is known that the address belongs to the account's owner. Accounts from before count as
-- they did.
ALTER TABLE users ADD COLUMN email_confirmed boolean NOT NULL DEFAULT true;
