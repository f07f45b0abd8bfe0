/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

#include <config.h>
#include "vse-odp.h"

#include <inttypes.h>
#include <string.h>

#include "netlink.h"
#include "odp-netlink.h"
#include "openvswitch/dynamic-string.h"
#include "util.h"

/* By enum xlat_dir, which lib has, and this file does not see. */
static const char *const dir_names[] = {
    NULL,
    "to_locator",
    "to_identifier",
};

static int parse(const char *, struct vse_xlat *);

void
vse_odp_format(const struct vse_xlat *xlat, struct ds *s)
{
    uint32_t dir = (xlat->flags & VSE_XLAT_DIR_MASK) >> VSE_XLAT_DIR_SHIFT;

    ds_put_format(s, "%s(zone=%"PRIu32,
                  xlat->flags & VSE_XLAT_ILA ? "ila" : "nat64", xlat->zone);
    if (vse_dir_name(dir)) {
        ds_put_format(s, ",dir=%s", vse_dir_name(dir));
    }
    if (xlat->flags & VSE_XLAT_TENANT) {
        ds_put_format(s, ",tenant=%"PRIu32, xlat->tenant);
    }
    if (xlat->reply_recirc_id) {
        ds_put_format(s, ",reply=%#"PRIx32, xlat->reply_recirc_id);
    }
    ds_put_char(s, ')');
}

int
vse_odp_parse(const char *s, struct ofpbuf *actions)
{
    struct vse_xlat xlat;
    int n = parse(s, &xlat);

    if (n) {
        nl_msg_put_unspec(actions, OVS_ACTION_ATTR_XLAT, &xlat, sizeof xlat);
    }
    return n;
}

const char *
vse_dir_name(uint32_t dir)
{
    return dir < ARRAY_SIZE(dir_names) ? dir_names[dir] : NULL;
}

uint32_t
vse_dir_from_name(const char *name)
{
    for (uint32_t dir = 1; dir < ARRAY_SIZE(dir_names); dir++) {
        if (!strcmp(name, dir_names[dir])) {
            return dir;
        }
    }
    return 0;
}

/* Parses the action that 's' begins with, see vse_odp_parse(). */
static int
parse(const char *s, struct vse_xlat *xlat)
{
    char dir[16];
    int n = 0;
    int m;

    memset(xlat, 0, sizeof *xlat);
    if (ovs_scan(s, "ila(zone=%"SCNi32"%n", &xlat->zone, &n)) {
        xlat->flags = VSE_XLAT_ILA;
    } else if (!ovs_scan(s, "nat64(zone=%"SCNi32"%n", &xlat->zone, &n)) {
        return 0;
    }
    if (ovs_scan(&s[n], ",dir=%15[a-z_]%n", dir, &m)) {
        xlat->flags |= vse_dir_from_name(dir) << VSE_XLAT_DIR_SHIFT;
        n += m;
    }
    if (!(xlat->flags & VSE_XLAT_ILA)
        && ovs_scan(&s[n], ",tenant=%"SCNi32"%n", &xlat->tenant, &m)) {
        xlat->flags |= VSE_XLAT_TENANT;
        n += m;
    }
    if (ovs_scan(&s[n], ",reply=%"SCNi32"%n", &xlat->reply_recirc_id, &m)) {
        n += m;
    }
    return s[n] == ')' ? n + 1 : 0;
}
