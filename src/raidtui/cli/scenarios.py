"""`raidtui scenarios`: the shipped scenarios, one line each."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

from raidtui.cli.screen import console, print_json, table, text
from raidtui.front.inputs import read_bytes, shipped
from raidtui.model.jsonio import read_json


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(args: Namespace) -> int:
    """Print name, disks needed and title of each."""
    found: list[dict[str, Any]] = []
    for name, path in shipped():
        value = read_json(read_bytes(str(path)))
        disks = {role: entry["count"] for role, entry in value["roles"].items()}
        found.append({"name": name, "title": value.get("title", ""), "roles": disks,
                      "layouts": list(value["layouts"]), "workloads": list(value["workloads"])})  # fmt: skip
    if args.json:
        print_json({"schema": "raidtui.scenarios/1", "scenarios": found})
        return 0
    counts = ("DISKS", "LAYOUTS", "WORKLOADS")
    listing = table("SCENARIO", *counts, "TITLE", right=counts)
    for entry in found:
        numbers = (sum(entry["roles"].values()), len(entry["layouts"]), len(entry["workloads"]))
        listing.add_row(text(entry["name"]), *map(str, numbers), text(entry["title"]))
    console(args).print(listing)
    return 0
