#!/bin/sh
# Makes what is missing in deploy/secrets: passwords at random, the key that seals all texts (keep a copy elsewhere:
# without it no backup can be read), the database's address out of its password. Two files are made empty, to be filled by
# hand: the key of the Messages API (empty: the extractive engine answers) and the client secret of the OpenID provider.
#
# The directory is for its owner alone. The files inside are readable, since Compose mounts them one by one, with the
# owner and mode they have here, into containers that do not run as that owner.
set -eu
umask 022
cd "$(dirname "$0")/.."
mkdir -p deploy/secrets
chmod 700 deploy/secrets
cd deploy/secrets
random() { head -c 24 /dev/urandom | od -An -tx1 | tr -d ' \n'; }
for name in postgres_password tongyao_db_password temporal_db_password; do
  [ -s "$name" ] || random >"$name"
done
[ -s database_url ] ||
  printf 'postgresql://tongyao:%s@postgres:5432/tongyao' "$(cat tongyao_db_password)" >database_url
[ -s master_key ] || head -c 32 /dev/urandom | base64 >master_key
for name in anthropic_api_key openid_client_secret; do
  [ -e "$name" ] || : >"$name"
done
chmod 444 ./*
