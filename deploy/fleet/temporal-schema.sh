#!/bin/sh
# Creates the tables of Temporal, or brings them up to date, in the databases that postgres-init.sh has created.
set -eu
setup() {
  temporal-sql-tool --db "$1" setup-schema -v 0.0
  temporal-sql-tool --db "$1" update-schema -d "/etc/temporal/schema/postgresql/v12/$2/versioned"
}
setup temporal temporal
setup temporal_visibility visibility
