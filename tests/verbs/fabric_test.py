#!/usr/bin/env python3
"""libfabric's fi_pingpong over verbs, with its comparison of contents.

    tests/verbs/fabric_test.py GDAKIT PROVIDER TYPE SIZE

Both sides must end with status 0 and the client must have sent all. The exit status is 77 where
fi_pingpong is not installed.
"""

import sys

sys.dont_write_bytecode = True

import client

# Whoever ends last sends its last message again and again to a peer that is gone, for a minute and
# more.
PATIENCE_S = 220


def main():
    gdakit, provider, kind, size = sys.argv[1:]
    client.require("fi_pingpong")
    words = ["fi_pingpong", "-p", provider, "-e", kind, "-S", size, "-I", "20", "-c"]
    outputs, statuses = client.run_pair(client.Fabric(gdakit), words, PATIENCE_S,
                                        server_port="-B", client_port="-P")
    print(f"--- client\n{outputs[0]}\n--- server\n{outputs[1]}\nended with {statuses}")
    return 0 if statuses == [0, 0] and all(" =20 " in output for output in outputs) else 1


if __name__ == "__main__":
    sys.exit(main())
