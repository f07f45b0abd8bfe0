#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Flexiv authors

"""Writes the golden cases, each into a folder beside this file.

usage: make.py [FOLDER]

The packets in, and what must come out, are built from fields, case by case,
in cases/*.py; nothing of the translator is used.  Folders that no case
writes any more are reported, not removed.
"""

import os
import sys

sys.dont_write_bytecode = True

from cases import (addresses, bad, icmp46, icmp64, ilas, links, nat44,
                   nat64, refused, siit46, siit64)

MODULES = (siit46, siit64, nat64, nat44, icmp46, icmp64, addresses, ilas,
           links, bad, refused)


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    folder = sys.argv[1] if len(sys.argv) > 1 else here
    names = set()
    for module in MODULES:
        for case in module.cases():
            assert case.name not in names, case.name
            names.add(case.name)
            case.write(folder)
    for name in sorted(os.listdir(folder)):
        if (os.path.exists(os.path.join(folder, name, 'conf.json'))
                and name not in names):
            print('%s: no case writes it' % name, file=sys.stderr)
    print('%d cases' % len(names))


if __name__ == '__main__':
    main()
