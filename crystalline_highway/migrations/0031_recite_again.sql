-- A memory may be recited again, with more passes or other vectors, while the one there is goes on being sought in.

ALTER TABLE highway_memories ADD COLUMN passes integer NOT NULL DEFAULT 0;   -- of the finished memory

-- Levels of two recitations of one memory may lie side by side; what was half done is done again.
DELETE FROM highway_stages;
ALTER TABLE highway_stages ADD COLUMN making bytea NOT NULL;                 -- which recitation: its fingerprint and passes
ALTER TABLE highway_stages DROP CONSTRAINT highway_stages_pkey;
ALTER TABLE highway_stages ADD PRIMARY KEY (owner, version, making, level);
