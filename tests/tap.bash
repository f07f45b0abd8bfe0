# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Flexiv authors
# shellcheck shell=bash
#
# The Test Anything Protocol for scripts: source it, call tap_ok and tap_not_ok
# for each test, tap_end at last.

tap_n=0
tap_failed=0

tap_ok () {
    tap_n=$((tap_n + 1))
    echo "ok $tap_n - $*"
}

tap_not_ok () {
    tap_n=$((tap_n + 1))
    tap_failed=$((tap_failed + 1))
    echo "not ok $tap_n - $*"
}

# tap_skip NAME REASON
tap_skip () {
    tap_n=$((tap_n + 1))
    echo "ok $tap_n - $1 # SKIP $2"
}

# tap_result NAME OUTPUT: passes if OUTPUT is empty, shows it otherwise.
tap_result () {
    if [[ -z $2 ]]; then
        tap_ok "$1"
    else
        tap_not_ok "$1"
        sed 's/^/# /' <<< "$2"
    fi
}

tap_end () {
    if [[ $tap_n -eq 0 ]]; then
        echo "1..0 # SKIP ${1:-there is nothing to test}"
    else
        echo "1..$tap_n"
    fi
}
