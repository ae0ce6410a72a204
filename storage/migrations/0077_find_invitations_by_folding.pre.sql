-- no transaction
DROP INDEX CONCURRENTLY IF EXISTS invitations_folded_emails;
CREATE INDEX CONCURRENTLY invitations_folded_emails ON invitations (realm_id, folded_email)
    WHERE state = 'open';
