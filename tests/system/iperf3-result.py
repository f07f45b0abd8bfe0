#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Flexiv authors

"""iperf3-result.py FILE: of iperf3's JSON, "MBIT/S LOST_PERCENT" as the
receiver saw it (0 lost for TCP).  Fails if nothing arrived."""

import json
import sys

with open(sys.argv[1]) as f:
    end = json.load(f)["end"]
received = end.get("sum_received") or end["sum"]
print("%.0f %.1f" % (received["bits_per_second"] / 1e6,
                     end.get("sum", {}).get("lost_percent", 0)))
sys.exit(not received["bytes"])
