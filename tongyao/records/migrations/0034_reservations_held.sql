-- The job `sweep` looks for what processes that have ended still hold of a budget.

CREATE INDEX reservations_held ON reservations (root_id) WHERE NOT settled;
