#! /bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Flexiv authors

# Makes ./configure, after a fresh clone.
set -e
cd "$(dirname "$0")"
mkdir -p build-aux
autoreconf --install --force
