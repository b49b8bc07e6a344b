-- The forms of the names that are hidden in a tree of processes, as keyed digests with their marks. They outlive the erasure of whom they name.
CREATE TABLE hidden_forms (
    root_id  text NOT NULL REFERENCES processes (id) ON DELETE CASCADE,
    digest   bytea NOT NULL,                      -- of the form, under a key derived from the root's data key
    words    integer NOT NULL,                    -- how many it has; 0: a run of a script without spaces
    length   integer NOT NULL,                    -- characters of such a run
    whole    boolean NOT NULL,                    -- the whole name, or a part of it
    capital  boolean NOT NULL,                    -- recognised with a capital letter only
    cased    boolean NOT NULL,                    -- without a capital in texts without capitals only
    ordinary boolean NOT NULL,                    -- an ordinary word that somebody confirmed as a name of their text
    authors  text NOT NULL,                       -- aliases of those who confirmed it, as PROCESS/ALIAS with spaces between
    number   integer NOT NULL,                    -- of its mark
    kind     text NOT NULL CHECK (kind IN ('person', 'firm')),
    PRIMARY KEY (root_id, digest)
);
