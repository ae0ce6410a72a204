-- Processes that take mail say so, too.
ALTER TABLE workers ADD COLUMN takes_mail boolean NOT NULL DEFAULT false;
