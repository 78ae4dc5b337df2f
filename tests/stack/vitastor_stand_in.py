"""Stands where vitastor-cli would: pools and images in a file, with answers in the forms that were recorded (`tests/data`).

It knows nothing of Vitastor; `tests/test_lab_vitastor.py` decides what works. The file is cluster.json, beside this one.
"""

from __future__ import annotations

import errno
import itertools
import json
import sys
from pathlib import Path
from typing import Any, NoReturn

FILE = Path(__file__).with_name("cluster.json")


def refuse(code: int, text: str) -> NoReturn:
    print(json.dumps({"error_code": code, "error_text": text}))
    sys.exit(code)


def main() -> None:
    verb, *words = sys.argv[1:]
    cluster: dict[str, Any] = json.loads(FILE.read_text())
    pools, images = cluster["ls-pools"], cluster["ls"]
    cluster["log"].append(" ".join(sys.argv[1:]))
    answer: Any = cluster.get(verb, {})
    failing = cluster["fails"].get(verb)
    named = next((one for one in pools if one["name"] == words[0]), None) if words else None
    if verb == "create-pool":
        given = dict(itertools.pairwise(words))
        data, _, code = given.get("--ec", "").partition("+")
        size = int(data) + int(code) if data else int(given["-s"])
        pools.append({
            "id": cluster["next"], "name": words[0], "scheme": "ec" if data else "replicated", "pg_size": size,
            "pg_minsize": int(given.get("--pg_minsize", data or size)), "pg_count": int(given["-n"]),
            "failure_domain": given.get("--failure_domain", "host"), "status": "inactive" if failing else "active",
            **({"parity_chunks": int(code)} if data else {}),
        })  # fmt: skip
    elif verb == "create" and not failing:
        pool = next(one for one in pools if one["name"] == words[3])
        images.append({"name": words[4], "pool_id": pool["id"], "pool_name": words[3], "size": int(words[1][:-1]) << 20})
    elif verb == "rm":
        images[:] = [one for one in images if one["name"] != words[0]]
    elif verb == "rm-pool" and named is not None:
        if any(one["pool_id"] == named["id"] for one in images):
            refuse(errno.ENOTEMPTY, f"Pool {words[0]} cannot be removed")
        pools.remove(named)
    elif verb == "status" and pools:
        pools[-1]["status"] = "active"  # what was made becomes active by and by
    FILE.write_text(json.dumps(cluster))
    if failing:
        refuse(*failing)
    print(json.dumps(answer))


main()
