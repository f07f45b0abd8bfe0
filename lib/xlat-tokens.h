/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef XLAT_TOKENS_H
#define XLAT_TOKENS_H 1

/* Rate limits in one word: the generic cell rate algorithm. */

#include <stdbool.h>
#include <stdint.h>

/* Takes leave to do something once at 'now_us' that may happen 'rate' times a
 * second and 'burst' times at once.  '*tat_ns', 0 at first, is the time at
 * which a bucket of tokens would be full again.  Returns whether there is
 * leave; with 'dry_run', says so without taking it.  Lock-free, any thread. */
bool xlat_tokens_take(uint64_t *tat_ns, uint32_t rate, uint32_t burst,
                      uint64_t now_us, bool dry_run);

#endif /* xlat-tokens.h */
