-- How often a message was marked for delivery again after its workflow was reset. Each time it is sent as an update with
-- a new id: Temporal does not answer an update again that it applied or refused before the reset.
ALTER TABLE messages ADD COLUMN sent_again integer NOT NULL DEFAULT 0;
