-- The Crystalline Highway: what lasts of a recited memory. No text stands here: units are surface keys and offsets,
-- and a seek is handed the text. Seeking itself works on arrays; these tables only bring them back.

CREATE TABLE highway_memories (
    owner        text NOT NULL,
    version      integer NOT NULL,
    fingerprint  bytea NOT NULL,         -- of texts and settings: the same ones are not recited twice
    arrays       bytea,                  -- NULL while it is being recited
    bytes        bigint NOT NULL DEFAULT 0,
    units        integer NOT NULL DEFAULT 0,
    paths        integer NOT NULL DEFAULT 0,
    started_at   timestamptz NOT NULL DEFAULT now(),
    recited_at   timestamptz,
    PRIMARY KEY (owner, version)
);
ALTER TABLE highway_memories ALTER COLUMN arrays SET STORAGE EXTERNAL;

-- One recited level of a memory in the making: where an interrupted recitation goes on.
CREATE TABLE highway_stages (
    owner    text NOT NULL,
    version  integer NOT NULL,
    level    smallint NOT NULL,
    state    bytea NOT NULL,
    PRIMARY KEY (owner, version, level),
    FOREIGN KEY (owner, version) REFERENCES highway_memories (owner, version) ON DELETE CASCADE
);
ALTER TABLE highway_stages ALTER COLUMN state SET STORAGE EXTERNAL;

-- Strengths of an owner's own units; they outlive the versions of a profile.
CREATE TABLE highway_starts (
    owner   text NOT NULL,
    unit    bigint NOT NULL,
    used    integer NOT NULL,
    useful  integer NOT NULL,
    PRIMARY KEY (owner, unit)
);

CREATE TABLE highway_targets (
    owner    text NOT NULL,
    unit     bigint NOT NULL,
    reached  integer NOT NULL,
    PRIMARY KEY (owner, unit)
);

CREATE TABLE highway_directs (
    owner   text NOT NULL,
    start   bigint NOT NULL,
    target  bigint NOT NULL,
    walks   integer NOT NULL,
    PRIMARY KEY (owner, start, target)
);

-- What has been written back already: the same process never counts twice.
CREATE TABLE highway_written (
    owner       text NOT NULL,
    occasion    text NOT NULL,
    written_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (owner, occasion)
);

-- Dictionary frequency over all owners: how often a base unit stands in recited texts. The owner's own is in `arrays`.
CREATE TABLE highway_dictionary (
    unit    bigint PRIMARY KEY,
    occurs  bigint NOT NULL CHECK (occurs >= 0)
);
