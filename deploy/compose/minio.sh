#!/bin/sh
# Makes the bucket of Attestry and a user for that bucket alone. It changes nothing when it is run again, but for
# the user's password. mc finds the server and its root user in MC_HOST_minio.
set -eu
bucket=${MINIO_BUCKET:-attestry}
user=${MINIO_USER:-attestry}

# Object lock, which ATTESTRY_RETENTION_DAYS needs, can only be had from the start.
mc mb --quiet --ignore-existing --with-lock "minio/$bucket"

# A bucket with object lock keeps versions. Without retention, what is deleted is only hidden: it goes a day later.
# What is under retention stays.
mc ilm import --quiet "minio/$bucket" <<'JSON'
{"Rules": [{"ID": "deleted", "Status": "Enabled", "Filter": {"Prefix": ""},
  "NoncurrentVersionExpiration": {"NoncurrentDays": 1}, "Expiration": {"ExpiredObjectDeleteMarker": true}}]}
JSON

# All but s3:BypassGovernanceRetention and what changes the bucket.
cat >"${TMPDIR:-/tmp}/policy.json" <<JSON
{"Version": "2012-10-17", "Statement": [
  {"Effect": "Allow", "Resource": ["arn:aws:s3:::$bucket"],
    "Action": ["s3:GetBucketLocation", "s3:GetBucketObjectLockConfiguration", "s3:GetBucketVersioning", "s3:ListBucket", "s3:ListBucketVersions", "s3:ListBucketMultipartUploads"]},
  {"Effect": "Allow", "Resource": ["arn:aws:s3:::$bucket/*"],
    "Action": ["s3:GetObject", "s3:GetObjectVersion", "s3:PutObject", "s3:DeleteObject", "s3:DeleteObjectVersion",
      "s3:GetObjectRetention", "s3:PutObjectRetention", "s3:AbortMultipartUpload", "s3:ListMultipartUploadParts"]}]}
JSON
mc admin policy create --quiet minio "$user" "${TMPDIR:-/tmp}/policy.json"

# The password is read from the standard input, so that no command line has it.
printf '%s\n%s\n' "$user" "$MINIO_PASSWORD" | mc admin user add --quiet minio
# It is an error to attach a policy twice. The image has no grep.
case $(mc admin user info --quiet --json minio "$user") in
    *'"policyName"'*"\"$user\""*) ;;
    *) mc admin policy attach --quiet minio "$user" --user "$user" ;;
esac
