-- As for accounts: what asks an address to join or to confirm something is found by its folding. Rows
-- of an older release with letters beyond ASCII have none, and are found as they are written; they end
-- within days.
ALTER TABLE invitations ADD COLUMN folded_email text COLLATE "C";
ALTER TABLE confirmations ADD COLUMN folded_email text COLLATE "C";

CREATE TRIGGER fold_new_email BEFORE INSERT ON invitations
    FOR EACH ROW WHEN (NEW.folded_email IS NULL) EXECUTE FUNCTION fold_email();
CREATE TRIGGER fold_changed_email BEFORE UPDATE OF email ON invitations
    FOR EACH ROW WHEN (NEW.email IS DISTINCT FROM OLD.email
                       AND NEW.folded_email IS NOT DISTINCT FROM OLD.folded_email)
    EXECUTE FUNCTION fold_email();
CREATE TRIGGER fold_new_email BEFORE INSERT ON confirmations
    FOR EACH ROW WHEN (NEW.folded_email IS NULL) EXECUTE FUNCTION fold_email();

UPDATE invitations SET folded_email = lower(email COLLATE "C")
 WHERE state = 'open' AND octet_length(email) = length(email);
UPDATE confirmations SET folded_email = lower(email COLLATE "C")
 WHERE octet_length(email) = length(email);
