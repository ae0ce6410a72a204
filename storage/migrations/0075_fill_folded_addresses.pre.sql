-- no transaction
-- Not unique: accounts whose addresses are the same by now are reported, and never merged. That no new
-- ones come is seen to under the lock of the realm.
CALL fill_folded_emails();
DROP INDEX CONCURRENTLY IF EXISTS users_folded_emails;
CREATE INDEX CONCURRENTLY users_folded_emails ON users (realm_id, folded_email);
DROP PROCEDURE IF EXISTS fill_folded_emails;
