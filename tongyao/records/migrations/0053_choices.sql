-- What the demander chooses among: people found anew when the rounds stand still, and residuals by their names.

ALTER TABLE candidates ADD COLUMN round integer NOT NULL DEFAULT 0;   -- 0: before the rounds; else after which of them
ALTER TABLE candidates DROP CONSTRAINT candidates_pkey;
ALTER TABLE candidates ADD PRIMARY KEY (process_id, round, perspective, rank);

ALTER TABLE inbox ADD COLUMN subject text NOT NULL DEFAULT '';        -- the residual that an ask is about
