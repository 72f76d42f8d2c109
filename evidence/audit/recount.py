#!/usr/bin/env python3
"""Checks a bundle of an audit with nothing but Python: its checksums, its totals, its sample and its packages.

Run it in the folder into which the bundle was unpacked. It ends with 0 if all of it holds, else with 1."""
import collections
import csv
import hashlib
import json
import os
import sys
import urllib.parse

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
    return listed


def population():
    with open(path("population.csv"), encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def recount(rows, totals):
    counted = collections.Counter()
    for row in rows:
        counted.update([row["kind"], row["verdict"], row["approval"]])
        counted.update(name for name in ("allow_listed", "broke_glass") if row[name] == "true")
    if dict(counted) != totals["by"]:
        faults.append(f"totals.json: it counts {totals['by']}, the population has {dict(counted)}")
    if not len(rows) == totals["deployments"] == totals["events"]["started"]:
        faults.append(f"totals.json: it does not add up to the {len(rows)} lines of the population")


def redraw(rows, sample):
    strata = collections.defaultdict(list)
    for row in rows:
        rank = hashlib.sha256((sample["seed"] + "\n" + row["id"]).encode()).hexdigest()
        stratum = row["id"].split("/", 1)[0] if sample["by_environment"] else ""
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


listed, rows, sample = checksums(), population(), read("sample.json")
recount(rows, read("totals.json"))
redraw(rows, sample)
packages(sample, listed)
for fault in faults:
    print("FAILED  ", fault)
if not faults:
    print(f"OK       {len(rows)} deployments, {len(sample['sample'])} drawn by the seed {sample['seed']!r}")
sys.exit(1 if faults else 0)
