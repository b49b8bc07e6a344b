-- The credentials of one person's agent are renewed by one gateway at a time: many platforms take a refresh token once.

ALTER TABLE sources ADD COLUMN renewing_until timestamptz;   -- the lease of whoever renews them now
