-- An owner's direct paths are bounded: of those walked as often, the ones walked last stay.

ALTER TABLE highway_directs ADD COLUMN walked_at timestamptz NOT NULL DEFAULT now();
