-- Scenes, profiles, and what people allow.

CREATE TABLE scenes (
    id          text PRIMARY KEY,
    title       text NOT NULL,
    settings    jsonb NOT NULL DEFAULT '{}',
    created_at  timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE profiles (
    id               text PRIMARY KEY,
    scene_id         text NOT NULL REFERENCES scenes (id),
    identity         bytea,                       -- JSON of display name and contact; NULL once erased
    identity_sealed  boolean NOT NULL DEFAULT false,  -- with the person's data key
    sample           boolean NOT NULL DEFAULT false,  -- came with Tongyao's own scenes
    origin           text NOT NULL DEFAULT 'api'  -- how it came in; decides what holds while there is no row in `consents`
                     CHECK (origin IN ('api', 'mcp', 'sample', 'import', 'file')),
    file_digest      text,                        -- SHA-256 of the path of the file that it was given as, if any; NULL once erased
    current_version  integer NOT NULL DEFAULT 0,
    created_at       timestamptz NOT NULL DEFAULT now(),
    deleted_at       timestamptz
);
CREATE INDEX profiles_by_file ON profiles (file_digest) WHERE deleted_at IS NULL AND file_digest IS NOT NULL;
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

-- Whether a proxy may speak for a person, by scene (docs/protocol.md §3.11).
CREATE TABLE consents (
    profile_id  text NOT NULL REFERENCES profiles (id),
    scene_id    text NOT NULL REFERENCES scenes (id),
    consent     text NOT NULL CHECK (consent IN ('ask', 'allow', 'never')),
    updated_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (profile_id, scene_id)
);

-- Where a person is told that something waits. An address is used once its owner has shown that it is theirs.
CREATE TABLE channels (
    person       text NOT NULL,
    kind         text NOT NULL,  -- of `Notifier` that sends there: mail, webhook, or one that was added
    body         bytea NOT NULL,                  -- JSON of the address and, of a webhook, the secret that signs what is sent
    sealed       boolean NOT NULL,                -- with the person's data key
    code_sha256  text NOT NULL DEFAULT '',        -- of a mail address: the code that confirms it
    confirmed    boolean NOT NULL DEFAULT false,
    created_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (person, kind)
);

-- People's own agents on platforms of their own, which are asked when a turn waits for them (docs/extending.md).
CREATE TABLE sources (
    person               text PRIMARY KEY,
    kind                 text NOT NULL,
    config               bytea NOT NULL,                      -- JSON of addresses; never a secret
    config_sealed        boolean NOT NULL,                    -- with the person's data key
    credentials_text_id  uuid NOT NULL REFERENCES texts (id), -- JSON, the person's own text: sealed and erased as such
    created_at           timestamptz NOT NULL DEFAULT now()
);
