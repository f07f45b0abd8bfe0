/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef VSE_TRACE_H
#define VSE_TRACE_H 1

/* What a translation would make of a flow, for ofproto/trace.
 *
 * Not good at packets whose fate hangs on more than their flow: a packet is
 * made up, without payload, so that an ICMP error has no packet inside.
 * For any thread but PMD threads: it allocates. */

#include "vse-hooks.h"

/* Implements the hook 'xlat_trace', see there. */
enum vse_trace_result vse_trace(const struct vse_xlat *, const struct flow *in,
                                struct flow *out, struct ds *words);

#endif /* vse-trace.h */
