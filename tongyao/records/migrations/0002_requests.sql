-- How many requests an attempt sent to a service: two when a cut answer was asked for again with a larger limit.
-- depends: 0001_core

ALTER TABLE model_calls ADD COLUMN requests integer NOT NULL DEFAULT 0;
