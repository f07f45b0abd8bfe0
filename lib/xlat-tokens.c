/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

#include "xlat-tokens.h"

bool
xlat_tokens_take(uint64_t *tat_ns, uint32_t rate, uint32_t burst,
                 uint64_t now_us, bool dry_run)
{
    if (!rate || !burst) {
        return false;
    }

    uint64_t now = now_us * 1000;
    uint64_t cost = UINT64_C(1000000000) / rate;
    uint64_t full = now + cost * burst;
    uint64_t old = __atomic_load_n(tat_ns, __ATOMIC_RELAXED);

    for (;;) {
        uint64_t tat = old > now ? old : now;

        /* Only a clock that went back leads beyond 'full'; take no more than
         * one burst's time to forget it. */
        if (tat > full) {
            tat = full;
        }
        bool leave = tat + cost <= full;
        if (dry_run) {
            return leave;
        }
        if (__atomic_compare_exchange_n(tat_ns, &old,
                                        tat + (leave ? cost : 0), true,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
            return leave;
        }
    }
}
