-- Who may come in, and how they are told (docs/api.md). A token is known by its hash alone.

CREATE TABLE tokens (
    id            text PRIMARY KEY,
    sha256        text NOT NULL UNIQUE,
    role          text NOT NULL CHECK (role IN ('operator', 'person', 'participant')),
    person        text,                          -- whose; NULL for operators
    process_id    text REFERENCES processes (id),
    alias         text,
    label         text NOT NULL DEFAULT '',
    created_at    timestamptz NOT NULL DEFAULT now(),
    expires_at    timestamptz,
    revoked_at    timestamptz,
    used_at       timestamptz,                   -- the first time it opened a door
    CHECK ((role = 'operator') = (person IS NULL)),
    CHECK ((role = 'participant') = (process_id IS NOT NULL AND alias IS NOT NULL))
);
CREATE INDEX tokens_by_person ON tokens (person);

-- Where a person is told that something waits. An address is used once its owner has shown that it is theirs.
CREATE TABLE channels (
    person       text NOT NULL,
    kind         text NOT NULL CHECK (kind IN ('mail', 'webhook')),
    address      text NOT NULL,
    secret       text NOT NULL DEFAULT '',       -- of a webhook: signs what is sent
    code_sha256  text NOT NULL DEFAULT '',       -- of a mail address: the code that confirms it
    confirmed    boolean NOT NULL DEFAULT false,
    created_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (person, kind)
);

-- One row per (what happened, whom it concerns, where they are told): the key makes it once.
CREATE TABLE notifications (
    id               uuid PRIMARY KEY,
    source           text NOT NULL,              -- `inbox/<row>@<opened>` or `event/<process>/<seq>`
    person           text NOT NULL,
    channel          text NOT NULL CHECK (channel IN ('mail', 'webhook', 'log')),
    process_id       text NOT NULL REFERENCES processes (id),
    about            jsonb NOT NULL,             -- closed words, ids and times: never a text
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
    seq         bigint NOT NULL DEFAULT 0
);
