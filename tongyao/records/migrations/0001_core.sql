-- The record of what was said and done. The workflow owns control; these tables own content (docs/protocol.md §8).
-- Bodies of texts are in `texts` and nowhere else: every other table holds ids, spans, counts and closed words.

CREATE TABLE data_keys (
    id            uuid PRIMARY KEY,
    owner         text NOT NULL,
    wrapped       bytea,                 -- NULL while texts are stored unencrypted, and after destruction
    created_at    timestamptz NOT NULL DEFAULT now(),
    destroyed_at  timestamptz
);
CREATE UNIQUE INDEX data_keys_one_active ON data_keys (owner) WHERE destroyed_at IS NULL;

CREATE TABLE texts (
    id          uuid PRIMARY KEY,
    owner       text NOT NULL,
    key_id      uuid NOT NULL REFERENCES data_keys (id),
    kind        text NOT NULL,
    body        bytea,                   -- UTF-8; NULL once erased
    chars       integer NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX texts_by_owner ON texts (owner);

CREATE FUNCTION texts_are_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND current_setting('tongyao.erasing', true) = 'on' THEN
        NEW.body := NULL;
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'texts are append-only: % refused; only erase_texts(owner) may remove a body', TG_OP
        USING ERRCODE = 'restrict_violation';
END
$$;

CREATE TRIGGER texts_append_only BEFORE UPDATE OR DELETE ON texts
    FOR EACH ROW EXECUTE FUNCTION texts_are_append_only();
CREATE TRIGGER texts_no_truncate BEFORE TRUNCATE ON texts
    FOR EACH STATEMENT EXECUTE FUNCTION texts_are_append_only();

-- Removes every body of one owner and destroys their keys; the rows stay, so that references still resolve.
CREATE FUNCTION erase_texts(whose text) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    erased integer;
BEGIN
    -- The keys first: whoever is storing a text for this owner holds theirs (FOR SHARE), so none slips in behind us.
    UPDATE data_keys SET wrapped = NULL, destroyed_at = now() WHERE owner = whose AND destroyed_at IS NULL;
    PERFORM set_config('tongyao.erasing', 'on', true);
    UPDATE texts SET body = NULL WHERE owner = whose AND body IS NOT NULL;
    GET DIAGNOSTICS erased = ROW_COUNT;
    PERFORM set_config('tongyao.erasing', 'off', true);
    RETURN erased;
END
$$;

CREATE TABLE scenes (
    id          text PRIMARY KEY,
    title       text NOT NULL,
    settings    jsonb NOT NULL DEFAULT '{}',
    created_at  timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE profiles (
    id               text PRIMARY KEY,
    scene_id         text NOT NULL REFERENCES scenes (id),
    display_name     text NOT NULL,
    contact          jsonb NOT NULL DEFAULT '{}',
    current_version  integer NOT NULL DEFAULT 0,
    created_at       timestamptz NOT NULL DEFAULT now(),
    deleted_at       timestamptz
);
CREATE INDEX profiles_by_scene ON profiles (scene_id, id) WHERE deleted_at IS NULL;

CREATE TABLE profile_versions (
    profile_id  text NOT NULL REFERENCES profiles (id),
    version     integer NOT NULL CHECK (version >= 1),
    text_id     uuid NOT NULL REFERENCES texts (id),
    chars       integer NOT NULL,
    grade       text NOT NULL CHECK (grade IN ('A', 'B', 'C')),
    language    text NOT NULL,
    sections    jsonb NOT NULL DEFAULT '[]',      -- [{name, start, end}]: offsets only
    sha256      text NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (profile_id, version)
);

CREATE TABLE mandates (
    profile_id  text PRIMARY KEY REFERENCES profiles (id),
    may_speak   boolean NOT NULL,
    text_id     uuid REFERENCES texts (id),       -- JSON of topics, never and addition
    updated_at  timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE processes (
    id                text PRIMARY KEY,
    scene_id          text REFERENCES scenes (id),
    demander          text NOT NULL,              -- a profile's or a person's id
    root_id           text NOT NULL,
    parent_id         text,
    depth             integer NOT NULL DEFAULT 0,
    phase             text NOT NULL,
    round             integer NOT NULL DEFAULT 0,
    waiting           boolean NOT NULL DEFAULT false,
    seq               bigint NOT NULL DEFAULT 0,  -- of the last transition that this row reflects
    language          text NOT NULL,
    intent_text_id    uuid REFERENCES texts (id),
    tension_text_id   uuid REFERENCES texts (id),
    grade             text CHECK (grade IN ('A', 'B', 'C')),
    settings          jsonb NOT NULL DEFAULT '{}',
    open_record       boolean NOT NULL DEFAULT true,
    started           boolean NOT NULL DEFAULT false,
    suspended_reason  text NOT NULL DEFAULT '',
    tokens            bigint NOT NULL DEFAULT 0,
    cost              numeric(18, 8) NOT NULL DEFAULT 0,
    created_at        timestamptz NOT NULL DEFAULT now(),
    updated_at        timestamptz NOT NULL DEFAULT now(),
    deadline_at       timestamptz,
    ended_at          timestamptz,
    outcome           text
);
CREATE INDEX processes_newest ON processes (created_at DESC, id DESC);
CREATE INDEX processes_by_root ON processes (root_id);
CREATE INDEX processes_open ON processes (updated_at) WHERE ended_at IS NULL;
CREATE INDEX processes_by_demander ON processes (demander);

CREATE TABLE seats (
    process_id       text NOT NULL REFERENCES processes (id),
    alias            text NOT NULL,
    profile_id       text NOT NULL REFERENCES profiles (id),
    profile_version  integer NOT NULL,
    endpoint         text NOT NULL,
    fallback         text NOT NULL,
    active           boolean NOT NULL DEFAULT true,
    joined_round     integer NOT NULL DEFAULT 1,
    PRIMARY KEY (process_id, alias),
    FOREIGN KEY (profile_id, profile_version) REFERENCES profile_versions (profile_id, version)
);
CREATE INDEX seats_by_profile ON seats (profile_id);

CREATE TABLE manifests (
    process_id  text NOT NULL REFERENCES processes (id),
    part        text NOT NULL,                    -- '*' for the process, an alias for who was added later
    body        jsonb NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (process_id, part)
);

CREATE TABLE candidates (
    process_id   text NOT NULL REFERENCES processes (id),
    perspective  text NOT NULL,
    rank         integer NOT NULL,
    profile_id   text NOT NULL REFERENCES profiles (id),
    score        double precision NOT NULL,
    reasons      jsonb NOT NULL DEFAULT '[]',     -- spans and labels
    PRIMARY KEY (process_id, perspective, rank)
);

CREATE TABLE events (
    process_id  text NOT NULL REFERENCES processes (id),
    seq         bigint NOT NULL CHECK (seq >= 1), -- allotted by the process itself, without gaps
    kind        text NOT NULL,
    at          timestamptz NOT NULL,
    data        jsonb NOT NULL DEFAULT '{}',
    PRIMARY KEY (process_id, seq)
);

-- What waits for whom. Ids are made of process, ask, alias and round, so that opening twice is opening once.
CREATE TABLE inbox (
    id          text PRIMARY KEY,
    process_id  text NOT NULL REFERENCES processes (id),
    ask         text NOT NULL,
    alias       text NOT NULL,
    person      text,                             -- the demander, or the profile on that seat
    round       integer NOT NULL DEFAULT 0,
    due_at      timestamptz,
    opened_at   timestamptz NOT NULL,
    closed_at   timestamptz
);
CREATE INDEX inbox_open ON inbox (person, due_at) WHERE closed_at IS NULL;
CREATE INDEX inbox_by_process ON inbox (process_id);

CREATE TABLE messages (
    id               uuid PRIMARY KEY,            -- also the id of the update that delivers it
    process_id       text NOT NULL REFERENCES processes (id),
    key              text NOT NULL,
    kind             text NOT NULL,
    author           jsonb NOT NULL,
    author_id        text NOT NULL,
    door             text NOT NULL,
    payload          jsonb NOT NULL DEFAULT '{}',
    text_id          uuid REFERENCES texts (id),
    state            text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'decided')),
    verdict          jsonb,
    attempts         integer NOT NULL DEFAULT 0,
    next_attempt_at  timestamptz NOT NULL DEFAULT now(),
    created_at       timestamptz NOT NULL DEFAULT now(),
    decided_at       timestamptz,
    UNIQUE (process_id, author_id, key),
    CHECK ((state = 'decided') = (verdict IS NOT NULL))
);
CREATE INDEX messages_due ON messages (next_attempt_at) WHERE state = 'pending';

CREATE TABLE model_calls (
    process_id          text NOT NULL REFERENCES processes (id),
    step                text NOT NULL,
    round               integer NOT NULL,
    alias               text NOT NULL,
    revision            integer NOT NULL,
    reask               integer NOT NULL,
    attempt             integer NOT NULL CHECK (attempt >= 1),
    input_hash          text NOT NULL,
    state               text NOT NULL CHECK (state IN ('claimed', 'settled', 'failed', 'orphaned')),
    worker              text NOT NULL,
    engine              text NOT NULL,
    model               text NOT NULL,
    labels              text[] NOT NULL DEFAULT '{}',
    input_tokens        bigint NOT NULL DEFAULT 0,
    cache_write_tokens  bigint NOT NULL DEFAULT 0,
    cache_read_tokens   bigint NOT NULL DEFAULT 0,
    output_tokens       bigint NOT NULL DEFAULT 0,
    cost                numeric(18, 8) NOT NULL DEFAULT 0,   -- US dollars
    cost_known          boolean NOT NULL DEFAULT false,
    answer_text_id      uuid REFERENCES texts (id),
    draft_text_id       uuid REFERENCES texts (id),
    error_reason        text,
    claimed_at          timestamptz NOT NULL DEFAULT now(),
    ended_at            timestamptz,
    PRIMARY KEY (process_id, step, round, alias, revision, reask, attempt),
    CHECK (state <> 'settled' OR (answer_text_id IS NOT NULL AND draft_text_id IS NOT NULL))
);
CREATE UNIQUE INDEX model_calls_settled_once
    ON model_calls (process_id, step, round, alias, revision, reask) WHERE state = 'settled';
CREATE INDEX model_calls_by_day ON model_calls (claimed_at);

CREATE TABLE projections (
    process_id  text NOT NULL REFERENCES processes (id),
    round       integer NOT NULL CHECK (round >= 1),
    alias       text NOT NULL,
    outcome     text NOT NULL,
    author      text NOT NULL,
    text_id     uuid REFERENCES texts (id),       -- JSON of the projection; NULL when nothing was said
    items       integer NOT NULL DEFAULT 0,
    chars       integer NOT NULL DEFAULT 0,
    struck      integer NOT NULL DEFAULT 0,
    guards      jsonb NOT NULL DEFAULT '{}',      -- counts by guard
    seconds     double precision NOT NULL DEFAULT 0,
    at          timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (process_id, round, alias)
);

CREATE TABLE observations (
    process_id  text NOT NULL REFERENCES processes (id),
    round       integer NOT NULL CHECK (round >= 1),
    verdict     text NOT NULL,
    text_id     uuid NOT NULL REFERENCES texts (id),
    chars       integer NOT NULL DEFAULT 0,
    struck      integer NOT NULL DEFAULT 0,
    guards      jsonb NOT NULL DEFAULT '{}',
    seconds     double precision NOT NULL DEFAULT 0,
    at          timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (process_id, round)
);

CREATE TABLE relations (
    process_id  text NOT NULL REFERENCES processes (id),
    round       integer NOT NULL,
    a           text NOT NULL,
    b           text NOT NULL,
    kind        text NOT NULL
        CHECK (kind IN ('complementary', 'aligned', 'offsetting', 'none_found', 'not_examined')),
    sources     text[] NOT NULL DEFAULT '{}',     -- item ids
    PRIMARY KEY (process_id, round, a, b),
    CHECK (a < b)
);

CREATE TABLE plans (
    process_id        text NOT NULL REFERENCES processes (id),
    revision          integer NOT NULL CHECK (revision >= 1),
    text_id           uuid NOT NULL REFERENCES texts (id),
    markdown_text_id  uuid NOT NULL REFERENCES texts (id),
    reduced           boolean NOT NULL,
    claims            integer NOT NULL,
    supported         integer NOT NULL,
    at                timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (process_id, revision),
    CHECK (supported <= claims)
);

CREATE TABLE deliveries (
    process_id  text NOT NULL REFERENCES processes (id),
    revision    integer NOT NULL,
    alias       text NOT NULL,
    text_id     uuid NOT NULL REFERENCES texts (id),
    language    text NOT NULL,
    at          timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (process_id, revision, alias)
);

CREATE TABLE answers (
    process_id  text NOT NULL REFERENCES processes (id),
    revision    integer NOT NULL,
    alias       text NOT NULL,
    decision    text NOT NULL CHECK (decision IN ('commit', 'decline', 'propose')),
    text_id     uuid REFERENCES texts (id),
    at          timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (process_id, revision, alias)
);

CREATE TABLE budgets (
    root_id          text PRIMARY KEY,
    limit_tokens     bigint,                      -- NULL: no limit
    limit_cost       numeric(18, 8),
    reserved_tokens  bigint NOT NULL DEFAULT 0,
    reserved_cost    numeric(18, 8) NOT NULL DEFAULT 0,
    settled_tokens   bigint NOT NULL DEFAULT 0,
    settled_cost     numeric(18, 8) NOT NULL DEFAULT 0,
    CHECK (reserved_tokens >= 0 AND reserved_cost >= 0)
);

-- What was reserved for which call or child, so that a repeated activity reserves and settles once.
CREATE TABLE reservations (
    root_id     text NOT NULL REFERENCES budgets (root_id),
    key         text NOT NULL,
    tokens      bigint NOT NULL CHECK (tokens >= 0),
    cost        numeric(18, 8) NOT NULL CHECK (cost >= 0),
    settled     boolean NOT NULL DEFAULT false,
    created_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (root_id, key)
);
