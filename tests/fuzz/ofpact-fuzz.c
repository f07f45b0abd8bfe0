/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

/* Fuzz target: OpenFlow actions as a controller sends them.  The first byte
 * chooses the version of OpenFlow, the rest are actions.  What is accepted
 * must be the same after a way through text, and through the wire. */

#include <config.h>

#include <stdint.h>
#include <stdlib.h>

#include "openvswitch/dynamic-string.h"
#include "openvswitch/ofp-actions.h"
#include "openvswitch/ofpbuf.h"
#include "openvswitch/vlog.h"
#include "util.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static enum ofperr
decode(const void *data, size_t size, enum ofp_version version,
       struct ofpbuf *ofpacts)
{
    struct ofpbuf msg = ofpbuf_const_initializer(data, size);

    return ofpacts_pull_openflow_actions(&msg, size, version, NULL, NULL,
                                         ofpacts);
}

static bool
has_ours(const struct ofpbuf *ofpacts)
{
    const struct ofpact *a;

    OFPACT_FOR_EACH_FLATTENED (a, ofpacts->data, ofpacts->size) {
        if (a->type == OFPACT_NAT64 || a->type == OFPACT_ILA) {
            return true;
        }
    }
    return false;
}

/* Only our actions: not all of OVS's come back unchanged. */
static bool
has_only_ours(const struct ofpbuf *ofpacts)
{
    const struct ofpact *a;

    OFPACT_FOR_EACH (a, ofpacts->data, ofpacts->size) {
        if (a->type != OFPACT_NAT64 && a->type != OFPACT_ILA) {
            return false;
        }
    }
    return true;
}

static void
check_same(const struct ofpbuf *a, const struct ofpbuf *b)
{
    if (!ofpacts_equal(a->data, a->size, b->data, b->size)) {
        abort();
    }
}

static void
check_wire(const struct ofpbuf *ofpacts, enum ofp_version version)
{
    struct ofpbuf openflow, again;

    ofpbuf_init(&openflow, 0);
    ofpbuf_init(&again, 0);
    ofpacts_put_openflow_actions(ofpacts->data, ofpacts->size, &openflow,
                                 version);

    enum ofperr error = decode(openflow.data, openflow.size, version, &again);
    if (has_only_ours(ofpacts)) {
        if (error) {
            abort();
        }
        check_same(ofpacts, &again);
    }
    ofpbuf_uninit(&again);
    ofpbuf_uninit(&openflow);
}

static void
check_text(const struct ofpbuf *ofpacts)
{
    struct ds s = DS_EMPTY_INITIALIZER;
    struct ofpact_format_params fp = { .s = &s };
    enum ofputil_protocol usable;
    struct ofpbuf again;
    struct ofpact_parse_params pp = {
        .ofpacts = &again,
        .usable_protocols = &usable,
    };

    ofpbuf_init(&again, 0);
    ofpacts_format(ofpacts->data, ofpacts->size, &fp);

    char *error = ofpacts_parse_actions(ds_cstr(&s), &pp);
    if (has_only_ours(ofpacts)) {
        /* A zone past 65535 has a text, but nobody may ask for it. */
        if (!error) {
            check_same(ofpacts, &again);
        } else if (!strstr(error, "invalid zone")) {
            abort();
        }
    }
    free(error);
    ofpbuf_uninit(&again);
    ds_destroy(&s);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ofpbuf ofpacts;

    if (size < 1 || size > 65535) {
        return 0;
    }
    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);

    enum ofp_version version = OFP10_VERSION + data[0] % 6;
    uint8_t *copy = xmemdup(data + 1, size - 1);

    ofpbuf_init(&ofpacts, 0);
    if (!decode(copy, size - 1, version, &ofpacts) && has_ours(&ofpacts)) {
        check_wire(&ofpacts, version);
        check_text(&ofpacts);
    }
    ofpbuf_uninit(&ofpacts);
    free(copy);
    return 0;
}
