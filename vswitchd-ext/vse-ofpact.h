/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef VSE_OFPACT_H
#define VSE_OFPACT_H 1

/* The OpenFlow actions nat64 and ila: as text, on the wire, and as argument of
 * the datapath action.
 *
 * Compiled into libopenvswitch, since every OpenFlow program parses and
 * prints actions.  It knows OVS, and nothing of what a zone is. */

#include "openvswitch/ofp-actions.h"
#include "openvswitch/ofp-errors.h"
#include "vse-hooks.h"

struct flow;
struct flow_wildcards;
struct match;
struct ofpbuf;
struct vl_mff_map;

/* Our experimenter ID. */
#define VSE_VENDOR_ID 0x00024658

/* Both actions on the wire, in all versions of OpenFlow: this, and then
 * properties (type and length, 16 bits each, then a value padded to 8
 * bytes).  A receiver refuses properties that it does not know. */
struct vse_action_xlat {
    ovs_be16 type;              /* OFPAT_VENDOR. */
    ovs_be16 len;               /* At least 16, a multiple of 8. */
    ovs_be32 vendor;            /* VSE_VENDOR_ID. */
    ovs_be16 subtype;           /* 1: nat64, 2: ila. */
    uint8_t pad[2];             /* Must be zero. */
    ovs_be32 zone;              /* 0 to 65535. */
};
BUILD_ASSERT_DECL(sizeof(struct vse_action_xlat) == 16);

/* Parses "zone=N[,dir=DIRECTION]" of ila, or "zone=N[,tenant=VALUE|FIELD]" of
 * nat64, in 'arg', which is overwritten, and appends the action to 'ofpacts'.
 * Returns NULL, or a malloc'ed sentence. */
char *vse_ofpact_parse(char *arg, enum ofpact_type, struct ofpbuf *ofpacts)
    OVS_WARN_UNUSED_RESULT;

void vse_ofpact_format(const struct ofpact_xlat *, struct ds *);

void vse_ofpact_encode(const struct ofpact_xlat *, struct ofpbuf *openflow);

/* Appends to 'ofpacts' the action of 'type' that stands in the
 * ntohs('action->len') bytes at 'action'.  The map and the bitmap are those of
 * fields of variable length (meta-flow.h). */
enum ofperr vse_ofpact_decode(const struct vse_action_xlat *action,
                              enum ofpact_type, const struct vl_mff_map *,
                              uint64_t *tlv_bitmap, struct ofpbuf *ofpacts);

/* Checks the arguments of 'a', nat64, against the match of 'cp', and notes
 * that what follows is behind it. */
enum ofperr vse_ofpact_check_nat64(const struct ofpact_xlat *a,
                                   struct ofpact_check_params *cp);

/* Behind nat64, an IP packet may be of either version, whatever it was before.
 * Makes 'match' one of the version whose fields 'a', the next action, names,
 * as far as prerequisites depend on it: the Ethertype, and which ICMP. */
void vse_ofpact_choose_family(const struct ofpact *a, struct match *match);

/* Clears the bits of fields that a packet of 'dl_type' does not have, since it
 * is of the other IP version, or of none. */
void vse_ofpact_clear_family(ovs_be16 dl_type, struct flow_wildcards *);

/* Returns the first of our actions in the 'len' bytes of 'ofpacts', also
 * inside other actions, or NULL. */
const struct ofpact *vse_ofpact_find(const struct ofpact *ofpacts, size_t len);

/* Returns the argument of the datapath action for packets of 'flow', without
 * recirculation id.  Un-wildcards what it depends on. */
struct vse_xlat vse_xlat_from_ofpact(const struct ofpact_xlat *,
                                     const struct flow *,
                                     struct flow_wildcards *);

/* What ofp-actions.c wants to find for each action, by these names. */
#define VSE_OFPACT(NAME)                                                    \
    static inline char * OVS_WARN_UNUSED_RESULT                             \
    parse_##NAME(char *arg, const struct ofpact_parse_params *pp)           \
    {                                                                       \
        return vse_ofpact_parse(arg, OFPACT_##NAME, pp->ofpacts);           \
    }                                                                       \
    static inline void                                                      \
    format_##NAME(const struct ofpact_xlat *a,                              \
                  const struct ofpact_format_params *fp)                    \
    {                                                                       \
        vse_ofpact_format(a, fp->s);                                        \
    }                                                                       \
    static inline void                                                      \
    encode_##NAME(const struct ofpact_xlat *a,                              \
                  enum ofp_version version OVS_UNUSED, struct ofpbuf *out)  \
    {                                                                       \
        vse_ofpact_encode(a, out);                                          \
    }                                                                       \
    static inline enum ofperr                                               \
    decode_FXAST_RAW_##NAME(const struct vse_action_xlat *action,           \
                            enum ofp_version version OVS_UNUSED,            \
                            const struct vl_mff_map *map,                   \
                            uint64_t *tlv_bitmap, struct ofpbuf *out)       \
    {                                                                       \
        return vse_ofpact_decode(action, OFPACT_##NAME, map, tlv_bitmap,    \
                                 out);                                      \
    }
VSE_OFPACT(NAT64)
VSE_OFPACT(ILA)
#undef VSE_OFPACT

static inline enum ofperr
check_NAT64(const struct ofpact_xlat *a, struct ofpact_check_params *cp)
{
    return vse_ofpact_check_nat64(a, cp);
}

static inline enum ofperr
check_ILA(const struct ofpact_xlat *a OVS_UNUSED,
          const struct ofpact_check_params *cp OVS_UNUSED)
{
    return 0;
}

#endif /* vse-ofpact.h */
