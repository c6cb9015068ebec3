#!/bin/sh
# Make the secret files of deploy/compose.yaml, in deploy/secrets: the password of the database, and the
# address of the store that has it. What is there is kept. Run it once, before the first start:
#   sh deploy/make-secrets.sh
#
# Compose mounts these files as they are: it ignores a mode that compose.yaml asks for. So the files can be read by
# the users of the containers, and the folder only by you.
set -eu
umask 077
folder=$(dirname "$0")/secrets
mkdir -p "$folder"
chmod 700 "$folder"
if [ ! -e "$folder/database_password" ]; then
    password=$(od -An -N32 -tx1 /dev/urandom | tr -d ' \n')
    printf '%s' "$password" >"$folder/database_password.new"
    mv "$folder/database_password.new" "$folder/database_password"
fi
printf 'postgresql://frugal:%s@database/frugal\n' "$(cat "$folder/database_password")" >"$folder/store.new"
mv "$folder/store.new" "$folder/store"
chmod 444 "$folder/database_password" "$folder/store"
echo "the secrets are in $folder"
