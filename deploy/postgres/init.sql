-- Run once, by the superuser, when the data volume is new: two roles, three databases, none of them shared.
-- The passwords are read from files, so that they stand in no environment, no command line and no image.
\set ON_ERROR_STOP on
\set tongyao `cat "${SECRETS_DIR:-/run/secrets}/tongyao_db_password"`
\set temporal `cat "${SECRETS_DIR:-/run/secrets}/temporal_db_password"`

CREATE ROLE tongyao LOGIN PASSWORD :'tongyao';
CREATE ROLE temporal LOGIN PASSWORD :'temporal';

CREATE DATABASE tongyao OWNER tongyao;
CREATE DATABASE temporal OWNER temporal;
CREATE DATABASE temporal_visibility OWNER temporal;

REVOKE CONNECT ON DATABASE tongyao, temporal, temporal_visibility FROM PUBLIC;

\connect tongyao
CREATE EXTENSION IF NOT EXISTS vector;
