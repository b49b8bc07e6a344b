-- Messages to processes (docs/protocol.md §8.2).

-- The last number given out in each lane of a process. Its row is locked while a message is numbered.
CREATE TABLE lanes (
    process_id  text NOT NULL REFERENCES processes (id),
    lane        text NOT NULL,
    last        integer NOT NULL,
    PRIMARY KEY (process_id, lane)
);

CREATE TABLE messages (
    id               uuid PRIMARY KEY,            -- also the id of the update that delivers it
    process_id       text NOT NULL REFERENCES processes (id),
    lane             text NOT NULL,
    number           integer NOT NULL CHECK (number >= 1),
    key              text NOT NULL,
    kind             text NOT NULL,
    author           jsonb NOT NULL,
    author_id        text NOT NULL,
    login            text NOT NULL DEFAULT '',    -- of an operator; never sent to the process
    via              text NOT NULL,               -- where it came in: api, mcp, cli, source, …
    payload          jsonb NOT NULL DEFAULT '{}',
    text_id          uuid REFERENCES texts (id),
    state            text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'decided')),
    verdict          jsonb,
    attempts         integer NOT NULL DEFAULT 0,
    next_attempt_at  timestamptz NOT NULL DEFAULT now(),
    leased_until     timestamptz,                 -- a relay is delivering it
    failures         integer NOT NULL DEFAULT 0,  -- answers of the workflow that are no verdict
    trouble          text NOT NULL DEFAULT '',    -- why the last try gave no verdict: a closed word
    set_aside_at     timestamptz,                 -- it failed so often that later ones of its lane may go first
    created_at       timestamptz NOT NULL DEFAULT now(),
    decided_at       timestamptz,
    UNIQUE (process_id, author_id, key),
    UNIQUE (process_id, lane, number),
    CHECK ((state = 'decided') = (verdict IS NOT NULL))
);
CREATE INDEX messages_due ON messages (next_attempt_at) WHERE state = 'pending';
CREATE INDEX messages_pending ON messages (process_id, lane, number) WHERE state = 'pending';
CREATE INDEX messages_of_operators ON messages (created_at) WHERE login <> '';
-- Of one lane never two are on their way at once, however many relays run.
CREATE UNIQUE INDEX messages_one_on_its_way ON messages (process_id, lane) WHERE leased_until IS NOT NULL;

-- When the doors were last seen open (one row), and when they were shut: no message could be handed in then.
CREATE TABLE door (
    id         integer PRIMARY KEY CHECK (id = 1),
    last_open  timestamptz NOT NULL
);

CREATE TABLE door_outages (
    shut_at    timestamptz PRIMARY KEY,
    opened_at  timestamptz NOT NULL,
    CHECK (opened_at > shut_at)
);

-- What operators did that is no message: the operators' log is both together. Without a process: payloads of Temporal
-- that they decoded; `times` counts those of a minute.
CREATE TABLE operator_acts (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    process_id  text REFERENCES processes (id),
    times       bigint NOT NULL DEFAULT 1,
    act         text NOT NULL,
    login       text NOT NULL,
    via         text NOT NULL,
    at          timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX operator_acts_by_process ON operator_acts (process_id);

-- Texts that operators signalled by hand: these alone stand in a Temporal history too.
CREATE TABLE signalled (
    process_id  text NOT NULL REFERENCES processes (id),
    text_id     uuid NOT NULL REFERENCES texts (id),
    owner       text NOT NULL,
    PRIMARY KEY (process_id, text_id)
);
CREATE INDEX signalled_by_owner ON signalled (owner);

-- Histories to be deleted as soon as their workflows have ended.
CREATE TABLE history_deletions (
    process_id  text PRIMARY KEY REFERENCES processes (id),
    asked_at    timestamptz NOT NULL DEFAULT now(),
    deleted_at  timestamptz
);

-- Who may come in (docs/api.md). A token is known by its hash alone.
CREATE TABLE tokens (
    id            text PRIMARY KEY,
    sha256        text NOT NULL UNIQUE,
    -- bearer: of API and MCP; link: a personal link to the console, used once; session: a browser's, in a cookie
    kind          text NOT NULL DEFAULT 'bearer' CHECK (kind IN ('bearer', 'link', 'session')),
    opened_by     text,                           -- the bearer token that a session was opened with: revoked together
    role          text NOT NULL CHECK (role IN ('operator', 'person', 'participant')),
    person        text,                           -- whose; NULL for operators
    process_id    text REFERENCES processes (id),
    alias         text,
    label         text NOT NULL DEFAULT '',
    created_at    timestamptz NOT NULL DEFAULT now(),
    expires_at    timestamptz,
    revoked_at    timestamptz,
    used_at       timestamptz,                    -- the first time it was used
    CHECK ((role = 'operator') = (person IS NULL)),
    CHECK ((role = 'participant') = (process_id IS NOT NULL AND alias IS NOT NULL))
);
CREATE INDEX tokens_by_person ON tokens (person);

-- One row per (what happened, whom it concerns, where they are told): the key makes it once.
CREATE TABLE notifications (
    id               uuid PRIMARY KEY,
    source           text NOT NULL,               -- `inbox/<row>@<opened>[/<due>]`, `event/<process>/<epoch>.<seq>`, `message/<id>`, `acted/<id>`
    person           text NOT NULL,
    channel          text NOT NULL,  -- log, or the kind of a channel
    process_id       text REFERENCES processes (id),   -- NULL: it is about no process
    about            jsonb NOT NULL,              -- closed words, ids and times: never a text
    state            text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'sent', 'failed', 'dropped')),
    attempts         integer NOT NULL DEFAULT 0,
    next_attempt_at  timestamptz NOT NULL DEFAULT now(),
    created_at       timestamptz NOT NULL DEFAULT now(),
    ended_at         timestamptz,
    UNIQUE (source, person, channel)
);
CREATE INDEX notifications_due ON notifications (next_attempt_at) WHERE state = 'pending';

-- Up to which event of each process notifications have been made.
CREATE TABLE notified (
    process_id  text PRIMARY KEY REFERENCES processes (id),
    epoch       integer NOT NULL DEFAULT 0,
    seq         bigint NOT NULL DEFAULT 0
);

-- One row per turn that a person's own agent is asked for: who takes it holds it until `next_attempt_at`.
CREATE TABLE source_turns (
    process_id       text NOT NULL REFERENCES processes (id),
    alias            text NOT NULL,
    round            integer NOT NULL,
    person           text NOT NULL,
    state            text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'said', 'refused', 'failed')),
    why              text NOT NULL DEFAULT '',    -- a closed word, of the last failure or refusal
    attempts         integer NOT NULL DEFAULT 1,
    next_attempt_at  timestamptz NOT NULL,
    PRIMARY KEY (process_id, alias, round)
);
CREATE INDEX source_turns_by_person ON source_turns (person);
