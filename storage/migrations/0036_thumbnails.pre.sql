-- Of uploaded pictures: how large they are. Without a width nobody has looked yet; 0: no picture.
ALTER TABLE attachments
    ADD COLUMN width integer,
    ADD COLUMN height integer,
    ADD COLUMN is_animated boolean NOT NULL DEFAULT false;
