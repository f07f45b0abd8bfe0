/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* Fuzz target: one packet through one zone, compared with the oracle.
 *
 * Input: 2 bytes that choose one of 65536 random zones, 1 for the headroom, 1
 * for flags, 2 for the GSO size, and the packet. */

#include <stdio.h>
#include <stdlib.h>

#include "compare.h"
#include "gen-conf.h"
#include "oracle-packet.h"
#include "xlat-zone.h"

#define HDR_BYTES 6

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A zone, kept while inputs name the same. */
static struct {
    struct xlat_zone *zone;
    struct orc_conf conf;
    uint32_t seed;
} kept;

static struct xlat_zone *
make_zone(const struct orc_conf *conf)
{
    struct xlat_zone *zone = NULL;
    char *error = NULL;
    struct xlat_conf *xc = gen_conf_tell(conf, &error);

    if (xc && xlat_zone_create(xc, NULL, &zone, &error)) {
        zone = NULL;
    }
    if (xc) {
        xlat_conf_destroy(xc);
    }
    free(error);
    return zone;
}

static bool
choose_zone(uint32_t seed)
{
    if (!kept.zone || kept.seed != seed) {
        struct rnd rnd = rnd_from_seed(seed);

        xlat_zone_destroy(kept.zone);
        gen_conf(&rnd, &kept.conf);
        kept.zone = make_zone(&kept.conf);
        kept.seed = seed;
    }
    return kept.zone != NULL;
}

/* A partial checksum is a promise of the caller's: made for a whole TCP or UDP
 * packet, which holds the pseudo-header's sum. */
static bool
make_partial(struct pk *pk)
{
    struct orc_ip4 ip4;
    struct orc_ip6 ip6;
    uint8_t *p = pk->data;
    uint16_t sum;
    uint8_t proto;

    if (pk->len >= 20 && p[0] >> 4 == 4
        && !orc_ip4_decode(p, pk->len, false, &ip4)
        && !ip4.mf && !ip4.frag_ofs && ip4.payload_len >= 20) {
        proto = ip4.proto;
        sum = orc_pseudo4(ip4.src, ip4.dst, proto, ip4.payload_len);
        p += ip4.hdr_len;
    } else if (pk->len >= 40 && p[0] >> 4 == 6
               && !orc_ip6_decode(p, pk->len, false, &ip6)
               && ip6.hdr_len == 40 && ip6.payload_len >= 20) {
        proto = ip6.proto;
        sum = orc_pseudo6(ip6.src, ip6.dst, proto, ip6.payload_len);
        p += 40;
    } else {
        return false;
    }
    if (proto != 6 && proto != 17) {
        return false;
    }
    orc_put16(p + orc_csum_ofs(proto), sum ? sum : 0xffff);
    pk->flags |= PK_L4_PARTIAL;
    return true;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct compare_slot slot;
    struct xlat_ctx ctx = { .now_us = 1, .rng = 1 };
    const char *wrong;

    if (size < HDR_BYTES || size - HDR_BYTES > GEN_MAX_PACKET
        || !choose_zone(data[0] << 8 | data[1])) {
        return 0;
    }
    if (!slot.buf) {
        compare_slot_init(&slot);
    }
    memset(&slot.in, 0, sizeof slot.in);
    slot.in.data = slot.copy;
    slot.in.len = size - HDR_BYTES;
    memcpy(slot.copy, data + HDR_BYTES, slot.in.len);
    if (data[3] & 1) {
        slot.in.flags |= PK_IP_CSUM_OK;
    }
    if (data[3] & 2 && make_partial(&slot.in) && data[3] & 4) {
        slot.in.gso_size = 100 + (data[4] << 8 | data[5]) % 9000;
    }
    ctx.dir = (data[3] >> 4) % 3;
    ctx.dry_run = data[3] & 8;
    compare_slot_put(&slot, data[2], 64);
    xlat_run(kept.zone, &ctx, &slot.job, 1);
    wrong = compare_slot_check(&kept.conf, ctx.dir,
                               kept.conf.set.icmp_error_rate > 0, &slot);
    if (wrong) {
        fprintf(stderr, "difference: %s\n", wrong);
        compare_slot_print(&kept.conf, ctx.dir, &slot, stderr);
        gen_conf_print(&kept.conf, stderr);
        abort();
    }
    return 0;
}
