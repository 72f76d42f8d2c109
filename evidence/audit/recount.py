#!/usr/bin/env python3
"""Checks a bundle of an audit with nothing but Python: its checksums, its totals, its sample and its packages.

    python3 recount.py [LOG_KEY [VERIFY_PACKAGE]]

With the verifier key of the log (name+hash+key), which the auditor has asked the service for, it also checks that the log
has signed the bundle. With the program verify-package, it also has each package verified. It looks at the folder that it
is in. It ends with 0 if all of it holds, else with 1."""
import base64
import collections
import csv
import hashlib
import json
import os
import subprocess
import sys
import urllib.parse

csv.field_size_limit(2**31 - 1)  # names of artifacts may be long

here = os.path.dirname(os.path.abspath(__file__))
faults = []


def path(name):
    return os.path.join(here, *name.split("/"))


def read(name):
    with open(path(name), encoding="utf-8") as file:
        return json.load(file)


def checksums():
    listed = {}
    with open(path("SHA256SUMS"), encoding="utf-8") as file:
        for line in file:
            digest, name = line.rstrip("\n").split("  ", 1)
            listed[name] = digest
    for name in ("audit.json", "population.csv", "sample.json", "totals.json"):
        if name not in listed:
            faults.append(f"SHA256SUMS: it lacks {name}")
    for name, digest in listed.items():
        total = hashlib.sha256()
        try:
            with open(path(name), "rb") as file:
                for part in iter(lambda: file.read(1 << 20), b""):
                    total.update(part)
        except OSError as error:
            faults.append(f"{name}: {error}")
            continue
        if total.hexdigest() != digest:
            faults.append(f"{name}: it was altered")
    # Whoever runs this may add files of their own, but not among those of the bundle. File managers add hidden ones.
    for folder in ("frameworks", "packages", "requirements"):
        for parent, _, names in os.walk(path(folder)):
            for name in names:
                member = os.path.relpath(os.path.join(parent, name), here).replace(os.sep, "/")
                if member not in listed and not name.startswith("."):
                    faults.append(f"{member}: SHA256SUMS does not list it")
    return listed


def population():
    with open(path("population.csv"), encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def recount(rows, totals):
    counted = collections.Counter()
    for row in rows:
        counted.update([row["kind"], row["verdict"], row["approval"]])
        counted.update(name for name in ("allow_listed", "broke_glass") if row[name] == "true")
        counted.update(["unapproved_trails"] if row["unapproved_trails"] else [])
        counted.update(["incident"] if row["incidents"] != "0" else [])
    if dict(counted) != totals["by"]:
        faults.append(f"totals.json: it counts {totals['by']}, the population has {dict(counted)}")
    if not len(rows) == totals["deployments"] == totals["events"]["started"]:
        faults.append(f"totals.json: it does not add up to the {len(rows)} lines of the population")


def redraw(rows, sample):
    strata = collections.defaultdict(list)
    for row in rows:
        rank = hashlib.sha256((sample["seed"] + "\n" + row["id"]).encode()).hexdigest()
        stratum = {"environment": row["id"].split("/", 1)[0], "verdict": row["verdict"]}.get(sample["by"], "")
        strata[stratum].append((rank, row["id"]))
    drawn = [pair for stratum in sorted(strata) for pair in sorted(strata[stratum])[: sample["size"]]]
    if drawn != [(row["rank"], row["id"]) for row in sample["sample"]]:
        faults.append("sample.json: another sample is drawn by its seed")
    if sample["population"] != len(rows):
        faults.append("sample.json: it was drawn of another population")


def packages(sample, listed):
    for row in sample["sample"]:
        if row["trail_name"] and not any(name.startswith("packages/") and urllib.parse.unquote(name)
                                         == f"packages/{row['flow_name']}/{row['trail_name']}.tar.gz" for name in listed):
            faults.append(f"packages: there is none of trail {row['trail_name']} of flow {row['flow_name']}")


# Ed25519 of RFC 8032: the prime, the order, the constant of the curve, and its base point.
P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P


def point(encoded):
    """Decodes a point into (X, Y, Z, T), or raises ValueError."""
    y = int.from_bytes(encoded, "little")
    odd, y = y >> 255, y & (2**255 - 1)
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * pow(2, (P - 1) // 4, P) % P
    if y >= P or (x * x - square) % P or (not x and odd):
        raise ValueError("no point")
    if x & 1 != odd:
        x = P - x
    return x, y, 1, x * y % P


def add(a, b):
    m, n = (a[1] - a[0]) * (b[1] - b[0]) % P, (a[1] + a[0]) * (b[1] + b[0]) % P
    c, d = 2 * a[3] * b[3] * D % P, 2 * a[2] * b[2] % P
    e, f, g, h = n - m, d - c, d + c, n + m
    return e * f % P, g * h % P, f * g % P, e * h % P


def multiply(number, of):
    product = (0, 1, 1, 0)
    while number:
        if number & 1:
            product = add(product, of)
        of, number = add(of, of), number >> 1
    return product


BASE = point((4 * pow(5, P - 2, P) % P).to_bytes(32, "little"))


def signed_by(key, signature, text):
    """Whether a public key of 32 bytes has signed a text."""
    if len(key) != 32 or len(signature) != 64 or int.from_bytes(signature[32:], "little") >= ORDER:
        return False
    try:
        left = multiply(int.from_bytes(signature[32:], "little"), BASE)
        hashed = hashlib.sha512(signature[:32] + key + text).digest()
        right = add(point(signature[:32]), multiply(int.from_bytes(hashed, "little") % ORDER, point(key)))
    except ValueError:
        return False
    return not (left[0] * right[2] - right[0] * left[2]) % P and not (left[1] * right[2] - right[1] * left[2]) % P


def signature(verifier):
    """Compares the signed note with the checksums, and its signature with the verifier key."""
    parts = verifier.split("+", 2)
    if len(parts) != 3:
        faults.append("LOG_KEY: it is not a verifier key (name+hash+key)")
        return
    name, _, key = parts
    with open(path("SHA256SUMS"), "rb") as file:
        sums = hashlib.sha256(file.read()).hexdigest()
    want = f"Attestry audit package v1\n{name}\n{sums}  SHA256SUMS\n"
    try:
        with open(path("SHA256SUMS.note"), encoding="utf-8", newline="") as file:
            text, signatures = file.read().rsplit("\n\n", 1)
        for line in signatures.splitlines():
            dash, signer, encoded = line.split(" ")
            decoded, public = base64.b64decode(encoded), base64.b64decode(key)
            if signer == name and text + "\n" == want and signed_by(public[1:], decoded[4:], want.encode()):
                return
    except (OSError, ValueError):
        pass
    faults.append("SHA256SUMS.note: the log did not sign these checksums")


def verify(program, verifier, listed):
    for name in listed:
        if name.startswith("packages/"):
            try:
                done = subprocess.run([program, "--log-key", verifier, path(name)], capture_output=True, text=True)
            except OSError as error:
                faults.append(f"VERIFY_PACKAGE: {error}")
                return
            if done.returncode:
                faults.append(f"{name}: {done.stdout}{done.stderr}")


listed, rows, sample = checksums(), population(), read("sample.json")
recount(rows, read("totals.json"))
redraw(rows, sample)
packages(sample, listed)
if len(sys.argv) > 1:
    signature(sys.argv[1])
if len(sys.argv) > 2:
    verify(sys.argv[2], sys.argv[1], listed)
for fault in faults:
    print("FAILED  ", fault)
if not faults:
    print(f"OK       {len(rows)} deployments, {len(sample['sample'])} drawn by the seed {sample['seed']!r}")
sys.exit(1 if faults else 0)
