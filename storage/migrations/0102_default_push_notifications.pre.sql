-- Whether first-time subscribers of a channel get push notifications, whatever their own default is.

ALTER TABLE channels ADD COLUMN default_push_notifications boolean NOT NULL DEFAULT false;
