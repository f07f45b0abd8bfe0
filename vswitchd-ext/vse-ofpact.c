/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

#include <config.h>
#include "vse-ofpact.h"

#include <netinet/in.h>

#include "colors.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/match.h"
#include "openvswitch/ofp-parse.h"
#include "openvswitch/ofp-prop.h"
#include "openvswitch/ofpbuf.h"
#include "openvswitch/vlog.h"
#include "packets.h"
#include "util.h"
#include "vse-odp.h"

VLOG_DEFINE_THIS_MODULE(vse_ofpact);

/* Properties on the wire. */
enum vse_prop {
    VSE_PROP_DIR = 1,           /* u8: an enum xlat_dir, not 0.  ila only. */
};

static char *parse_argument(const char *key, const char *value,
                            struct ofpact_xlat *, bool *has_zone);
static enum ofperr decode_property(uint64_t type, const struct ofpbuf *,
                                   struct ofpact_xlat *);
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

    /* A property may have moved the buffer. */
    action = ofpbuf_at_assert(openflow, start, sizeof *action);
    action->len = htons(openflow->size - start);
}

enum ofperr
vse_ofpact_decode(const struct vse_action_xlat *action, enum ofpact_type type,
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
            error = decode_property(prop, &payload, &xlat);
        }
        if (error) {
            return error;
        }
    }
    put_ofpact(&xlat, ofpacts);
    return 0;
}

void
vse_ofpact_check_nat64(struct match *match)
{
    struct flow *flow = &match->flow;

    if (flow->dl_type == htons(ETH_TYPE_IP)) {
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
vse_xlat_from_ofpact(const struct ofpact_xlat *a)
{
    return (struct vse_xlat) {
        .zone = a->zone,
        .flags = ((a->ofpact.type == OFPACT_ILA ? VSE_XLAT_ILA : 0)
                  | a->dir << VSE_XLAT_DIR_SHIFT),
    };
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
    }
    return xasprintf("%s: invalid argument \"%s\"",
                     ofpact_name(xlat->ofpact.type), key);
}

static enum ofperr
decode_property(uint64_t type, const struct ofpbuf *payload,
                struct ofpact_xlat *xlat)
{
    enum ofperr error;
    uint8_t dir;

    if (type != VSE_PROP_DIR || xlat->ofpact.type != OFPACT_ILA) {
        return OFPPROP_UNKNOWN(false, ofpact_name(xlat->ofpact.type), type);
    }
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

/* Appends 'xlat' to 'ofpacts', which may move: so nothing is kept in it while
 * properties are being read. */
static void
put_ofpact(const struct ofpact_xlat *xlat, struct ofpbuf *ofpacts)
{
    struct ofpact_xlat *a = ofpact_put(ofpacts, xlat->ofpact.type, sizeof *a);

    a->zone = xlat->zone;
    a->dir = xlat->dir;
}
