-- Erasures that are not finished are gone on with in the order of their last try, so that none is waited for by the others.

ALTER TABLE tombstones ADD COLUMN tried_at timestamptz NOT NULL DEFAULT now();
