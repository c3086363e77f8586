-- The texts that were searched for and found nothing, normalised, where ANALYTICS_SEARCH_TEXTS asks for them.
-- oldest-program: 0006
-- An older program records no texts.

ALTER TABLE searches ADD COLUMN text text COLLATE "C";
