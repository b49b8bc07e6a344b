-- Processes. The workflow owns control; these tables are projections of its transitions (docs/protocol.md §11).

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
    suspended         text[] NOT NULL DEFAULT '{}',   -- codes of all causes of a suspension
    suspended_reason  text NOT NULL DEFAULT '',
    run_id            text NOT NULL DEFAULT '',   -- of the workflow's run that this row reflects
    epoch             integer NOT NULL DEFAULT 0, -- of that run, see `epochs`
    seq               bigint NOT NULL DEFAULT 0,  -- of the last transition that this row reflects
    went_back         boolean NOT NULL DEFAULT false, -- it says otherwise than before: its state is to be asked for
    language          text NOT NULL,
    intent_text_id    uuid REFERENCES texts (id),
    tension_text_id   uuid REFERENCES texts (id),
    grade             text CHECK (grade IN ('A', 'B', 'C')),
    settings          jsonb NOT NULL DEFAULT '{}',
    open_record       boolean NOT NULL DEFAULT true,
    started           boolean NOT NULL DEFAULT false,
    branch_cancelled  boolean NOT NULL DEFAULT false, -- cancelled with everything below it: no child is announced any more
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
CREATE INDEX processes_by_parent ON processes (parent_id) WHERE parent_id IS NOT NULL;
CREATE INDEX processes_open ON processes (updated_at) WHERE ended_at IS NULL;
CREATE INDEX processes_by_demander ON processes (demander);

CREATE TABLE seats (
    process_id        text NOT NULL REFERENCES processes (id),
    alias             text NOT NULL,
    profile_id        text REFERENCES profiles (id),
    profile_version   integer,
    endpoint          text NOT NULL,
    seated_endpoint   text NOT NULL,              -- what spoke for it at first, before any switch
    fallback          text NOT NULL,
    seated_fallback   text NOT NULL,
    active            boolean NOT NULL DEFAULT true,
    joined_round      integer NOT NULL DEFAULT 1,
    seated_at         timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (process_id, alias),
    FOREIGN KEY (profile_id, profile_version) REFERENCES profile_versions (profile_id, version),
    -- A demander who takes part has a seat, P00, also without a profile: then a person or an agent speaks, never a proxy.
    CONSTRAINT seats_of_profiles CHECK ((profile_id IS NULL) = (profile_version IS NULL)
        AND (profile_id IS NOT NULL OR (alias = 'P00' AND endpoint <> 'proxy')))
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
    round        integer NOT NULL DEFAULT 0,      -- 0: before the rounds; else after which of them
    perspective  text NOT NULL,
    rank         integer NOT NULL,
    profile_id   text NOT NULL REFERENCES profiles (id),
    score        double precision NOT NULL,
    reasons      jsonb NOT NULL DEFAULT '[]',     -- spans and labels
    PRIMARY KEY (process_id, round, perspective, rank)
);

-- Every run of a workflow writes in an epoch of its own. What an older epoch wrote from `first_seq` on is superseded: the
-- workflow was reset, or restored, and went on otherwise from there. Continuing as new supersedes nothing.
CREATE TABLE epochs (
    process_id   text NOT NULL REFERENCES processes (id),
    epoch        integer NOT NULL CHECK (epoch >= 1),
    run_id       text NOT NULL,
    first_seq    bigint NOT NULL,
    complete_to  bigint NOT NULL DEFAULT 0,       -- what is missing up to here is lost, and not waited for
    began_at     timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (process_id, epoch)
);

CREATE TABLE events (
    process_id  text NOT NULL REFERENCES processes (id),
    epoch       integer NOT NULL,
    seq         bigint NOT NULL CHECK (seq >= 1), -- allotted by the process itself, without gaps
    kind        text NOT NULL,
    at          timestamptz NOT NULL,
    data        jsonb NOT NULL DEFAULT '{}',
    superseded  boolean NOT NULL DEFAULT false,
    PRIMARY KEY (process_id, epoch, seq)
);
CREATE UNIQUE INDEX events_as_they_stand ON events (process_id, seq) WHERE NOT superseded;

-- Readers of events are told that a process has new ones (records/process/changes.py): its id, and nothing else.
CREATE FUNCTION notify_events() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('tongyao_events', process_id) FROM (SELECT DISTINCT process_id FROM written) AS w;
    RETURN NULL;
END $$;
CREATE TRIGGER events_notified AFTER INSERT ON events
    REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION notify_events();
CREATE TRIGGER epochs_notified AFTER INSERT ON epochs
    REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION notify_events();

CREATE FUNCTION notify_end() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('tongyao_events', NEW.id);
    RETURN NULL;
END $$;
CREATE TRIGGER processes_end_notified AFTER UPDATE OF ended_at ON processes
    FOR EACH ROW WHEN (OLD.ended_at IS DISTINCT FROM NEW.ended_at) EXECUTE FUNCTION notify_end();

-- What waits for whom. Ids are made of process, ask, alias and round, so that opening twice is opening once.
CREATE TABLE inbox (
    id                 text PRIMARY KEY,
    process_id         text NOT NULL REFERENCES processes (id),
    ask                text NOT NULL,
    alias              text NOT NULL,
    person             text,                      -- the demander, the profile on that seat, or who is invited
    round              integer NOT NULL DEFAULT 0,
    subject            text NOT NULL DEFAULT '',  -- the residual, or the person, that an ask is about
    others             integer,                   -- of `consent`: how many others would take part at most
    due_at             timestamptz,               -- NULL while the process is suspended
    remaining_seconds  integer,                   -- while it is suspended: how much time will be left
    opened_at          timestamptz NOT NULL,
    closed_at          timestamptz,
    told_opened_at     timestamptz,               -- as of when a notification was made of it, and with which date
    told_due_at        timestamptz
);
CREATE INDEX inbox_open ON inbox (person, due_at) WHERE closed_at IS NULL;
CREATE INDEX inbox_by_process ON inbox (process_id);
CREATE INDEX inbox_consents ON inbox (person, opened_at) WHERE ask = 'consent';
