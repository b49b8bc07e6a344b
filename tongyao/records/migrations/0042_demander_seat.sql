-- A demander who takes part has a seat, P00, also where they have no profile: then a person or an agent speaks, never a proxy.
ALTER TABLE seats
    ALTER COLUMN profile_id DROP NOT NULL,
    ALTER COLUMN profile_version DROP NOT NULL,
    ADD CONSTRAINT seats_of_profiles CHECK ((profile_id IS NULL) = (profile_version IS NULL)
        AND (profile_id IS NOT NULL OR (alias = 'P00' AND endpoint <> 'proxy')));
