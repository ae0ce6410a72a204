-- Exports that were made on the server from which a realm was imported: there is no file of them.

ALTER TABLE realm_exports ADD COLUMN from_prior_server boolean NOT NULL DEFAULT false;
