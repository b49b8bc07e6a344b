#!/bin/sh
# Brings both databases of the Temporal server to the schema of this version. Safe to repeat.
# The schema is the one inside the tool. POSTGRES_HOST, POSTGRES_PORT; the password is read from a file.
set -eu
SQL_PASSWORD="$(cat "${SECRETS_DIR:-/run/secrets}/temporal_db_password")"
export SQL_PASSWORD SQL_PLUGIN=postgres12 SQL_USER=temporal SQL_HOST="$POSTGRES_HOST" SQL_PORT="${POSTGRES_PORT:-5432}"

bring_up() { # database, schema
  temporal-sql-tool --database "$1" setup-schema --version 0.0
  temporal-sql-tool --database "$1" update-schema --schema-name "postgresql/v12/$2"
}
bring_up temporal temporal
bring_up temporal_visibility visibility
