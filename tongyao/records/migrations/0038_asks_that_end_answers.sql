-- A decision that ends the answers to a plan says so in the inbox. What waited before this build says it with its next change.

ALTER TABLE inbox ADD COLUMN ends_answers boolean NOT NULL DEFAULT false;
