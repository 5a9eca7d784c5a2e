#!/bin/sh
# Makes the owner of the tables, the service's own role and the database, in compose.yaml's container.
set -eu
psql --username postgres --set ON_ERROR_STOP=1 \
    --set owner_password="$(cat /run/secrets/owner_password)" \
    --set password="$(cat /run/secrets/database_password)" <<'SQL'
CREATE ROLE pay_owner LOGIN PASSWORD :'owner_password';
CREATE ROLE pay LOGIN PASSWORD :'password';
CREATE DATABASE pay OWNER pay_owner ENCODING 'UTF8' TEMPLATE template0;
SQL
