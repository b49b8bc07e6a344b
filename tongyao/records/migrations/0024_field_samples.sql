-- Who is a sample is asked of everybody whom a search finds: of an index of the few that are.

CREATE INDEX profiles_samples ON profiles (id) WHERE sample;
