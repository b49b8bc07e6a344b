-- Standing tensions: what stayed unresolved waits in its scene until somebody comes for it (docs/protocol.md §7.8).

CREATE TABLE standing_tensions (
    id          text PRIMARY KEY,
    scene_id    text NOT NULL REFERENCES scenes (id),
    process_id  text NOT NULL REFERENCES processes (id),
    residual    text NOT NULL,                    -- of the plan; `tension`: what the process itself asked
    demander    text NOT NULL,
    text_id     uuid NOT NULL REFERENCES texts (id),  -- the tension with marks in place of names
    people      text[] NOT NULL DEFAULT '{}',     -- whose items went into it: it waits while all of them allow it
    visible     boolean NOT NULL DEFAULT false,   -- the people of the scene may read it and step forward
    per_week    integer NOT NULL CHECK (per_week >= 1),   -- how often its demander is told
    until       timestamptz NOT NULL,
    searched    boolean NOT NULL DEFAULT false,   -- who came while its process ran was held against it
    child       text,                             -- the process that takes it up, once there is one
    created_at  timestamptz NOT NULL,
    closed_at   timestamptz,
    UNIQUE (process_id, residual)
);
CREATE INDEX standing_tensions_open ON standing_tensions (scene_id) WHERE closed_at IS NULL;
CREATE INDEX standing_tensions_by_demander ON standing_tensions (demander);

-- Who answers a standing tension: once for each person, with the version by which they were found. The row opens the ask.
CREATE TABLE standing_matches (
    standing_id  text NOT NULL REFERENCES standing_tensions (id) ON DELETE CASCADE,
    profile_id   text NOT NULL REFERENCES profiles (id),
    version      integer NOT NULL,
    number       integer NOT NULL,                -- within the standing tension: the ask is `candidate/<standing>/<number>`
    perspective  text NOT NULL DEFAULT '',        -- empty: they stepped forward themselves
    score        double precision NOT NULL DEFAULT 0,
    reasons      jsonb NOT NULL DEFAULT '[]',     -- spans and labels
    found_at     timestamptz NOT NULL,
    asked_at     timestamptz,                     -- when the demander was told; NULL: later, by `per_week`
    begun        boolean,                         -- the demander's answer
    PRIMARY KEY (standing_id, profile_id),
    UNIQUE (standing_id, number)
);
CREATE INDEX standing_matches_by_profile ON standing_matches (profile_id);

-- Up to which version a profile was held against the standing tensions of its scene. Who is there already was found by discovery.
ALTER TABLE profiles ADD COLUMN searched_version integer NOT NULL DEFAULT 0;
UPDATE profiles SET searched_version = current_version;
CREATE INDEX profiles_unsearched ON profiles (scene_id, id) WHERE searched_version < current_version AND deleted_at IS NULL;

-- Whether what stayed open in an ended process was looked through for standing tensions.
ALTER TABLE processes ADD COLUMN stood boolean NOT NULL DEFAULT false;
UPDATE processes SET stood = true WHERE ended_at IS NOT NULL;
CREATE INDEX processes_not_stood ON processes (ended_at) WHERE ended_at IS NOT NULL AND NOT stood;
