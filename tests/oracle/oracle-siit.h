/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef ORACLE_SIIT_H
#define ORACLE_SIIT_H 1

/* The slow and obvious translator.
 *
 * It says what may become of one packet: the reasons for which it may be
 * dropped, and the bytes of the result if it is translated.  Where several
 * reasons hold at once, each is right: RFCs give no order.  Where a field's
 * value is the translator's choice (an identification, an address drawn from
 * pool4), the choice comes in as an argument, taken from the result under
 * test, and everything else must follow from it.
 *
 * Not good at: speed, and telling which of several reasons a user would rather
 * hear.  Any thread may call it. */

#include "oracle-addr.h"
#include "oracle-packet.h"
#include "pk.h"

/* Choices that the translator under test made. */
struct orc_choice {
    const uint8_t *out;          /* Its result, ... */
    size_t len;                  /* ... 'len' bytes. */
};

struct orc_want {
    struct orc_why why;
    bool may_pass;               /* Unchanged, if not translated. */
    bool anything;               /* The oracle has no opinion. */

    /* The result if it is translated; unset if 'why.must'. */
    uint8_t out[ORC_MAX_PACKET];
    size_t len;
    uint8_t from, to;            /* Families. */
    uint16_t gso_min, gso_max;
    uint32_t frag_mtu;
    uint32_t frag_id;            /* If 'frag_id_set'. */
    bool frag_id_set;
    bool partial;                /* The checksum is still to be completed. */

    /* Checksum fields in 'out' where 0x0000 and 0xffff are the same. */
    size_t loose[4];
    unsigned int n_loose;
};

/* Translates 'pk' through a siit zone. */
void orc_siit(const struct orc_conf *, const struct pk *pk,
              const struct orc_choice *, struct orc_want *);

/* Returns NULL if 'out' is a right ICMP error about 'in', dropped for the
 * reason 'drop', or else what is wrong with it. */
const char *orc_reply_check(const struct orc_conf *, const struct pk *in,
                            enum xlat_drop drop, const struct pk *out);

/* Returns whether an ICMP error must be sent for 'in', if it is dropped for
 * the reason 'drop' and the rate allows. */
bool orc_reply_due(const struct orc_conf *, const struct pk *in,
                   enum xlat_drop drop);

#endif /* oracle-siit.h */
