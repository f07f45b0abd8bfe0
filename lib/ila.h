/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef ILA_H
#define ILA_H 1

/* Identifier-locator addressing (draft-herbert-intarea-ila), on the packet
 * path.
 *
 * Of an address, the lower 64 bits are an identifier, which names a node, and
 * the upper 64 bits are a locator, which says where it is, or a SIR prefix,
 * which does not.  A packet's destination goes from SIR prefix to locator or
 * back, in place; nothing else changes but what keeps the transport checksum
 * right (ila-csum.h).  The source address, the hop limit and the packet's
 * length stay as they are.
 *
 * Direction: a destination under one of the zone's SIR prefixes goes to its
 * locator, any other back, if a mapping has that identifier at that locator;
 * or 'ctx->dir' says which of the two is tried.
 *
 * ICMPv6 errors: a router on the way quotes the packet as it was there, with a
 * locator in its destination, to a sender that never saw one.  So the
 * destination of the packet inside is taken back to the identifier, its
 * transport checksum too as far as it is there, whichever way the error itself
 * goes, and even if the error's own destination has no mapping.  The source of
 * the packet inside was never changed by ILA, and is not changed here.
 *
 * Packets behind whose headers no transport checksum is known stay unchanged
 * but for the address: later fragments, ESP, AH (which both ends see as it
 * was sent), and those with routing segments left, whose pseudo-header has
 * another destination (RFC 8200, 8.1). */

#include "xlat-stats.h"

/* Takes the 'n' <= XLAT_BATCH packets of 'jobs' through 'zone', of kind ila,
 * and sets verdict and drop reason of each.  Counts them for their mappings,
 * unless 'ctx->dry_run', and in 'tally'.
 *
 * Drop reasons: XLAT_DROP_NOT_IP, XLAT_DROP_TRUNCATED, XLAT_DROP_BAD_HDR,
 * XLAT_DROP_NO_MAPPING (IPv4 packets too), XLAT_DROP_ILA_C_BIT. */
void ila_run(const struct xlat_zone *zone, struct xlat_ctx *ctx,
             struct xlat_tally *tally, struct xlat_job *jobs, size_t n);

#endif /* ila.h */
