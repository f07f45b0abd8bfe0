/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* Steps that packets of siit and of stateful zones go alike. */

#include "xlat-icmp.h"
#include "xlat-private.h"

enum xlat_drop
xlat_way_parse_drop(enum pk_parse_result result)
{
    switch (result) {
    case PK_OK:
        return XLAT_OK;
    case PK_NOT_IP:
        return XLAT_DROP_NOT_IP;
    case PK_TRUNCATED:
        return XLAT_DROP_TRUNCATED;
    case PK_BAD_EXT:
        return XLAT_DROP_BAD_EXT_HDR;
    case PK_BAD_AH:
        return XLAT_DROP_AH;
    case PK_BAD_ROUTING:
        return XLAT_DROP_ROUTING_HDR;
    case PK_BAD_HDR:
    default:
        return XLAT_DROP_BAD_HDR;
    }
}

bool
xlat_way_is_known_error(const struct xlat_way *way)
{
    const struct pk_info *info = &way->info;

    return (xlat_is_icmp(info) && !xlat_is_cut(info)
            && pk_l4_bytes(info) >= PK_ICMP_HDR_BYTES
            && xlat_icmp_is_known_error(info->family,
                                        way->job->pk.data[info->l4_ofs]));
}

void
xlat_way_init_rewrite(const struct xlat_way *way, uint8_t from, uint8_t to,
                      struct xlat_rewrite *rw)
{
    const struct xlat_settings *set = &way->zone->set;

    *rw = (struct xlat_rewrite) {
        .from = from,
        .to = to,
        .flags = XLAT_RW_SRC | XLAT_RW_DST,
    };
    if (from == to) {
        return;
    } else if (to == 4 && set->tos_override >= 0) {
        rw->flags |= XLAT_RW_TOS_SET;
        rw->tos = set->tos_override;
    } else if (to == 6 && set->reset_traffic_class) {
        rw->flags |= XLAT_RW_TOS_SET;
    }
}

enum xlat_drop
xlat_way_apply(struct xlat_way *way, struct xlat_rewrite *rw)
{
    struct pk *pk = &way->job->pk;
    uint16_t ip_id = xlat_rng_next(&way->ctx->rng);

    if (rw->from != 4 || rw->to != 4) {
        xlat_l4_fill_csum(way);
    }
    xlat_rewrite_set_delta(rw, pk->data, &way->info);
    if (rw->from == 6 && rw->to == 4) {
        pk->frag_id = way->info.is_frag ? way->info.frag_id & 0xffff : ip_id;
    }
    return xlat_rewrite_apply(rw, pk, &way->info, ip_id);
}
