#!/bin/sh
# A plain gate for cron: move tonight's table to the public folder only if it passes.
#
#   15 2 * * *  /opt/anonrisk/nightly.sh /data/new/admissions.csv /etc/anonrisk/release.json /data/public
#
# cron mails what is written here; the exit code is that of the gate.
set -eu
table=$1 policy=$2 public=$3

anonrisk check "$table" --policy "$policy" --output "$table.verdict.json" || {
    code=$?
    echo "not published (exit code $code): $table" >&2
    exit "$code"
}
mv "$table" "$public/"
