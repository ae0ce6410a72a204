-- Functions of pins and descriptions of topics that nothing calls any more.
DROP FUNCTION IF EXISTS append_pinned_topics(bigint, bigint, bigint[], bigint, boolean, uuid);
DROP FUNCTION IF EXISTS append_renamed_topic(bigint, bigint, uuid);
DROP FUNCTION IF EXISTS append_pins(bigint, text, bigint, bigint[], jsonb, uuid);
DROP FUNCTION IF EXISTS append_gained_pins(bigint, bigint[], bigint[], uuid);
DROP FUNCTION IF EXISTS append_topic_descriptions(bigint, bigint, bigint[], bigint[], text, uuid);
DROP FUNCTION IF EXISTS append_forgotten_descriptions(bigint, bigint, bigint[], text[], uuid);
DROP FUNCTION IF EXISTS append_renamed_description(bigint, bigint, text, uuid);
DROP FUNCTION IF EXISTS append_gained_descriptions(bigint, bigint[], bigint[], uuid);
