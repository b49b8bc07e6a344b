#!/bin/sh
# The Temporal server with config/docker.yaml beside this script; its password is read from a file.
set -eu
TEMPORAL_DB_PASSWORD="$(cat "${SECRETS_DIR:-/run/secrets}/temporal_db_password")"
export TEMPORAL_DB_PASSWORD
exec temporal-server --root "$(dirname "$0")" --config config --env docker --allow-no-auth start
