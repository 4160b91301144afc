#!/usr/bin/env python3
"""What programs read of the soft ConnectXes, beside what is stored for each model and link layer.

    tests/verbs/description_test.py GDAKIT [--write]

With --write it stores what there is now, in tests/verbs/descriptions. The exit status is 77 where
ibv_devinfo is not installed.
"""

import difflib
import pathlib
import sys

sys.dont_write_bytecode = True

import client

STORED = pathlib.Path(__file__).with_name("descriptions")
PROGRAMS = (("ibv_devices",), ("ibv_devinfo", "-v"), ("ibstat",))


def describe(gdakit, model, link):
    fabric = client.Fabric(gdakit, "--model", str(model), "--link", link, "--nics", "2")
    text = ""
    for words in PROGRAMS:
        ran = fabric.run(*words)
        text += f"$ {' '.join(words)}\n{ran.stdout}{ran.stderr}"
        if ran.returncode != 0:
            text += f"exit status {ran.returncode}\n"
    return "".join(line.rstrip() + "\n" for line in text.splitlines())


def main():
    gdakit, write = sys.argv[1], "--write" in sys.argv[2:]
    client.require(*(words[0] for words in PROGRAMS))
    different = False
    for model in (6, 7, 8):
        for link in ("roce", "ib"):
            path = STORED / f"connectx{model}_{link}.txt"
            now = describe(gdakit, model, link)
            if write:
                path.write_text(now, encoding="ascii")
            before = path.read_text(encoding="ascii")
            if now != before:
                different = True
                print("".join(difflib.unified_diff(before.splitlines(True), now.splitlines(True),
                                                   f"stored {path.name}", "now")))
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
