/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

#include <config.h>
#include "vse-ofpact.h"

#include <netinet/in.h>

#include "colors.h"
#include "flow.h"
#include "nx-match.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/match.h"
#include "openvswitch/meta-flow.h"
#include "openvswitch/ofp-parse.h"
#include "openvswitch/ofp-prop.h"
#include "openvswitch/ofpbuf.h"
#include "openvswitch/vlog.h"
#include "packets.h"
#include "util.h"
#include "vl-mff-map.h"
#include "vse-odp.h"

VLOG_DEFINE_THIS_MODULE(vse_ofpact);

/* Properties on the wire. */
enum vse_prop {
    VSE_PROP_DIR = 1,           /* u8: an enum xlat_dir, not 0.  ila only. */
    VSE_PROP_TENANT = 2,        /* u32.  nat64 only, as is: */
    VSE_PROP_TENANT_SRC = 3,    /* u16 offset and u16 number, 1 to 32, of bits;
                                 * then the OXM or NXM header, 4 or 8 bytes, of
                                 * the field that they are in.  Not with
                                 * VSE_PROP_TENANT. */
};

/* A tenant's number has so many bits. */
#define TENANT_BITS 32

static char *parse_argument(const char *key, const char *value,
                            struct ofpact_xlat *, bool *has_zone);
static char *parse_tenant(const char *, struct ofpact_xlat *);
static void put_tenant(const struct ofpact_xlat *, struct ofpbuf *openflow);
static enum ofperr decode_property(uint64_t type, const struct ofpbuf *,
                                   const struct vl_mff_map *,
                                   uint64_t *tlv_bitmap,
                                   struct ofpact_xlat *);
static enum ofperr decode_dir(const struct ofpbuf *, struct ofpact_xlat *);
static enum ofperr decode_tenant(uint64_t type, const struct ofpbuf *,
                                 const struct vl_mff_map *,
                                 uint64_t *tlv_bitmap, struct ofpact_xlat *);
static bool has_fields_of(const struct ofpact *, const struct match *);
static void put_ofpact(const struct ofpact_xlat *, struct ofpbuf *ofpacts);

char *
vse_ofpact_parse(char *arg, enum ofpact_type type, struct ofpbuf *ofpacts)
{
    struct ofpact_xlat xlat = { .ofpact.type = type };
    bool has_zone = false;
    char *key, *value;

    while (ofputil_parse_key_value(&arg, &key, &value)) {
        char *error = parse_argument(key, value, &xlat, &has_zone);
        if (error) {
            return error;
        }
    }
    if (!has_zone) {
        return xasprintf("%s: zone is required", ofpact_name(type));
    }
    put_ofpact(&xlat, ofpacts);
    return NULL;
}

void
vse_ofpact_format(const struct ofpact_xlat *a, struct ds *s)
{
    ds_put_format(s, "%s%s(%s%szone=%s%"PRIu32, colors.paren,
                  ofpact_name(a->ofpact.type), colors.end, colors.param,
                  colors.end, a->zone);
    if (a->dir) {
        ds_put_format(s, ",%sdir=%s%s", colors.param, colors.end,
                      vse_dir_name(a->dir));
    }
    if (a->has_tenant) {
        ds_put_format(s, ",%stenant=%s", colors.param, colors.end);
        if (a->tenant_src.field) {
            mf_format_subfield(&a->tenant_src, s);
        } else {
            ds_put_format(s, "%"PRIu32, a->tenant);
        }
    }
    ds_put_format(s, "%s)%s", colors.paren, colors.end);
}

void
vse_ofpact_encode(const struct ofpact_xlat *a, struct ofpbuf *openflow)
{
    size_t start = openflow->size;
    struct vse_action_xlat *action;

    action = ofpbuf_put_zeros(openflow, sizeof *action);
    action->type = OVS_BE16_MAX;
    action->vendor = htonl(VSE_VENDOR_ID);
    action->subtype = htons(a->ofpact.type == OFPACT_NAT64 ? 1 : 2);
    action->zone = htonl(a->zone);
    if (a->dir) {
        ofpprop_put_u8(openflow, VSE_PROP_DIR, a->dir);
    }
    if (a->has_tenant) {
        put_tenant(a, openflow);
    }

    /* A property may have moved the buffer. */
    action = ofpbuf_at_assert(openflow, start, sizeof *action);
    action->len = htons(openflow->size - start);
}

enum ofperr
vse_ofpact_decode(const struct vse_action_xlat *action, enum ofpact_type type,
                  const struct vl_mff_map *map, uint64_t *tlv_bitmap,
                  struct ofpbuf *ofpacts)
{
    struct ofpact_xlat xlat = {
        .ofpact.type = type,
        .zone = ntohl(action->zone),
    };
    struct ofpbuf properties;

    if (!is_all_zeros(action->pad, sizeof action->pad)) {
        return OFPERR_NXBRC_MUST_BE_ZERO;
    }
    if (xlat.zone > UINT16_MAX) {
        return OFPERR_OFPBAC_BAD_ARGUMENT;
    }
    ofpbuf_use_const(&properties, action, ntohs(action->len));
    ofpbuf_pull(&properties, sizeof *action);
    while (properties.size > 0) {
        struct ofpbuf payload;
        enum ofperr error;
        uint64_t prop;

        error = ofpprop_pull(&properties, &payload, &prop);
        if (!error) {
            error = decode_property(prop, &payload, map, tlv_bitmap, &xlat);
        }
        if (error) {
            return error;
        }
    }
    put_ofpact(&xlat, ofpacts);
    return 0;
}

enum ofperr
vse_ofpact_check_nat64(const struct ofpact_xlat *a,
                       struct ofpact_check_params *cp)
{
    cp->behind_nat64 = true;
    return a->tenant_src.field ? mf_check_src(&a->tenant_src, cp->match) : 0;
}

void
vse_ofpact_choose_family(const struct ofpact *a, struct match *match)
{
    struct flow *flow = &match->flow;

    if (has_fields_of(a, match)) {
        return;
    } else if (flow->dl_type == htons(ETH_TYPE_IP)) {
        flow->dl_type = htons(ETH_TYPE_IPV6);
        if (flow->nw_proto == IPPROTO_ICMP) {
            flow->nw_proto = IPPROTO_ICMPV6;
        }
    } else if (flow->dl_type == htons(ETH_TYPE_IPV6)) {
        flow->dl_type = htons(ETH_TYPE_IP);
        if (flow->nw_proto == IPPROTO_ICMPV6) {
            flow->nw_proto = IPPROTO_ICMP;
        }
    }
}

void
vse_ofpact_clear_family(ovs_be16 dl_type, struct flow_wildcards *wc)
{
    /* ARP's addresses are in the fields of IPv4's. */
    if (dl_type != htons(ETH_TYPE_IP) && dl_type != htons(ETH_TYPE_ARP)
        && dl_type != htons(ETH_TYPE_RARP)) {
        wc->masks.nw_src = wc->masks.nw_dst = 0;
    }
    if (dl_type != htons(ETH_TYPE_IPV6)) {
        wc->masks.ipv6_src = wc->masks.ipv6_dst = in6addr_any;
        wc->masks.nd_target = in6addr_any;
        wc->masks.ipv6_label = 0;
    }
}

const struct ofpact *
vse_ofpact_find(const struct ofpact *ofpacts, size_t len)
{
    const struct ofpact *a;

    OFPACT_FOR_EACH_FLATTENED (a, ofpacts, len) {
        if (a->type == OFPACT_NAT64 || a->type == OFPACT_ILA) {
            return a;
        }
    }
    return NULL;
}

struct vse_xlat
vse_xlat_from_ofpact(const struct ofpact_xlat *a, const struct flow *flow,
                     struct flow_wildcards *wc)
{
    const struct mf_subfield *src = &a->tenant_src;
    struct vse_xlat xlat = {
        .zone = a->zone,
        .flags = ((a->ofpact.type == OFPACT_ILA ? VSE_XLAT_ILA : 0)
                  | (a->has_tenant ? VSE_XLAT_TENANT : 0)
                  | a->dir << VSE_XLAT_DIR_SHIFT),
        .tenant = a->tenant,
    };

    if (src->field && mf_are_prereqs_ok(src->field, flow, wc)) {
        xlat.tenant = mf_get_subfield(src, flow);
        mf_write_subfield_flow(src, &exact_sub_match_mask, &wc->masks);
    }
    return xlat;
}

static char *
parse_argument(const char *key, const char *value, struct ofpact_xlat *xlat,
               bool *has_zone)
{
    if (!strcmp(key, "zone")) {
        uint16_t zone;
        char *error = str_to_u16(value, "zone", &zone);

        xlat->zone = error ? 0 : zone;
        *has_zone = true;
        return error;
    } else if (!strcmp(key, "dir") && xlat->ofpact.type == OFPACT_ILA) {
        xlat->dir = vse_dir_from_name(value);
        return (xlat->dir
                ? NULL
                : xasprintf("ila: dir must be to_locator or to_identifier, "
                            "not \"%s\"", value));
    } else if (!strcmp(key, "tenant") && xlat->ofpact.type == OFPACT_NAT64) {
        return parse_tenant(value, xlat);
    }
    return xasprintf("%s: invalid argument \"%s\"",
                     ofpact_name(xlat->ofpact.type), key);
}

/* Parses a number, decimal or hexadecimal, or a field or subfield. */
static char *
parse_tenant(const char *value, struct ofpact_xlat *xlat)
{
    if (xlat->has_tenant) {
        return xstrdup("nat64: tenant is given twice");
    }
    xlat->has_tenant = true;
    if (value[0] >= '0' && value[0] <= '9') {
        int base = value[1] == 'x' || value[1] == 'X' ? 16 : 10;

        return (str_to_uint(value, base, &xlat->tenant)
                ? NULL
                : xasprintf("nat64: tenant must be a field, or a number "
                            "below 2^32, not \"%s\"", value));
    }

    char *error = mf_parse_subfield(&xlat->tenant_src, value);
    if (!error && xlat->tenant_src.n_bits > TENANT_BITS) {
        error = xasprintf("nat64: tenant has %d bits, \"%s\" has %u",
                          TENANT_BITS, value, xlat->tenant_src.n_bits);
    }
    return error;
}

static void
put_tenant(const struct ofpact_xlat *a, struct ofpbuf *openflow)
{
    const struct mf_subfield *src = &a->tenant_src;

    if (src->field) {
        size_t start = ofpprop_start(openflow, VSE_PROP_TENANT_SRC);
        ovs_be16 bits[2] = { htons(src->ofs), htons(src->n_bits) };

        ofpbuf_put(openflow, bits, sizeof bits);
        nx_put_mff_header(openflow, src->field, 0, false);
        ofpprop_end(openflow, start);
    } else {
        ofpprop_put_u32(openflow, VSE_PROP_TENANT, a->tenant);
    }
}

static enum ofperr
decode_property(uint64_t type, const struct ofpbuf *payload,
                const struct vl_mff_map *map, uint64_t *tlv_bitmap,
                struct ofpact_xlat *xlat)
{
    bool is_ila = xlat->ofpact.type == OFPACT_ILA;

    if (type == VSE_PROP_DIR && is_ila) {
        return decode_dir(payload, xlat);
    } else if ((type == VSE_PROP_TENANT || type == VSE_PROP_TENANT_SRC)
               && !is_ila) {
        return decode_tenant(type, payload, map, tlv_bitmap, xlat);
    }
    return OFPPROP_UNKNOWN(false, ofpact_name(xlat->ofpact.type), type);
}

static enum ofperr
decode_dir(const struct ofpbuf *payload, struct ofpact_xlat *xlat)
{
    enum ofperr error;
    uint8_t dir;

    /* ofpprop_parse_u8() takes a longer value for one with padding. */
    if (ofpbuf_msgsize(payload) != sizeof dir) {
        return OFPERR_OFPBPC_BAD_LEN;
    }
    error = ofpprop_parse_u8(payload, &dir);
    if (error) {
        return error;
    }
    xlat->dir = dir;
    return vse_dir_name(dir) ? 0 : OFPERR_OFPBPC_BAD_VALUE;
}

/* Decodes the value of VSE_PROP_TENANT_SRC. */
static enum ofperr
decode_tenant_src(const struct ofpbuf *payload, const struct vl_mff_map *map,
                  uint64_t *tlv_bitmap, struct mf_subfield *src)
{
    struct ofpbuf b = ofpbuf_const_initializer(payload->msg,
                                               ofpbuf_msgsize(payload));
    const ovs_be16 *bits = ofpbuf_try_pull(&b, 2 * sizeof *bits);
    enum ofperr error;

    if (!bits) {
        return OFPERR_OFPBPC_BAD_LEN;
    }
    src->ofs = ntohs(bits[0]);
    src->n_bits = ntohs(bits[1]);
    error = mf_vl_mff_nx_pull_header(&b, map, &src->field, NULL, tlv_bitmap);
    if (error) {
        return error;
    } else if (b.size) {
        return OFPERR_OFPBPC_BAD_LEN;
    } else if (src->n_bits > TENANT_BITS) {
        return OFPERR_OFPBPC_BAD_VALUE;
    }
    return mf_check_src(src, NULL);
}

static enum ofperr
decode_tenant(uint64_t type, const struct ofpbuf *payload,
              const struct vl_mff_map *map, uint64_t *tlv_bitmap,
              struct ofpact_xlat *xlat)
{
    if (xlat->has_tenant) {
        return OFPERR_OFPBPC_DUP_TYPE;
    }
    xlat->has_tenant = true;
    return (type == VSE_PROP_TENANT
            ? ofpprop_parse_u32(payload, &xlat->tenant)
            : decode_tenant_src(payload, map, tlv_bitmap, &xlat->tenant_src));
}

static bool
has_field(const struct mf_subfield *sf, const struct match *match)
{
    return !sf->field || mf_are_match_prereqs_ok(sf->field, match);
}

static bool
learns_from(const struct ofpact_learn *learn, const struct match *match)
{
    const struct ofpact_learn_spec *spec;

    OFPACT_LEARN_SPEC_FOR_EACH (spec, learn) {
        if (spec->src_type == NX_LEARN_SRC_FIELD
            && !has_field(&spec->src, match)) {
            return false;
        }
    }
    return true;
}

static bool
has_range_of(const struct ofpact_nat *nat, const struct match *match)
{
    ovs_be16 dl_type = match->flow.dl_type;

    return (nat->range_af == AF_INET ? dl_type == htons(ETH_TYPE_IP)
            : nat->range_af == AF_INET6 ? dl_type == htons(ETH_TYPE_IPV6)
            : true);
}

/* Returns true if packets of 'match' have all the fields that 'a' names.
 * Actions with others inside do not count, as those are checked as well. */
static bool
has_fields_of(const struct ofpact *a, const struct match *match)
{
    /* An int, since most actions name no field of a single IP version. */
    switch ((int) a->type) {
    case OFPACT_SET_IPV4_SRC:
    case OFPACT_SET_IPV4_DST:
        return match->flow.dl_type == htons(ETH_TYPE_IP);

    case OFPACT_SET_FIELD:
        return mf_are_match_prereqs_ok(ofpact_get_SET_FIELD(a)->field, match);

    case OFPACT_REG_MOVE:
        return (has_field(&ofpact_get_REG_MOVE(a)->src, match)
                && has_field(&ofpact_get_REG_MOVE(a)->dst, match));

    case OFPACT_STACK_PUSH:
        return has_field(&ofpact_get_STACK_PUSH(a)->subfield, match);

    case OFPACT_STACK_POP:
        return has_field(&ofpact_get_STACK_POP(a)->subfield, match);

    case OFPACT_OUTPUT_REG:
        return has_field(&ofpact_get_OUTPUT_REG(a)->src, match);

    case OFPACT_LEARN:
        return learns_from(ofpact_get_LEARN(a), match);

    case OFPACT_CT:
        return has_field(&ofpact_get_CT(a)->zone_src, match);

    case OFPACT_NAT:
        return has_range_of(ofpact_get_NAT(a), match);

    case OFPACT_NAT64:
        return has_field(&ofpact_get_NAT64(a)->tenant_src, match);

    default:
        return true;
    }
}

/* Appends 'xlat' to 'ofpacts', which may move: so nothing is kept in it while
 * properties are being read. */
static void
put_ofpact(const struct ofpact_xlat *xlat, struct ofpbuf *ofpacts)
{
    struct ofpact_xlat *a = ofpact_put(ofpacts, xlat->ofpact.type, sizeof *a);

    a->zone = xlat->zone;
    a->dir = xlat->dir;
    a->has_tenant = xlat->has_tenant;
    a->tenant_src = xlat->tenant_src;
    a->tenant = xlat->tenant;
}
