/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef VSE_APPCTL_H
#define VSE_APPCTL_H 1

/* The commands of ovs-appctl about zones: xlat/list, xlat/show, xlat/mappings,
 * xlat/sessions, xlat/query, xlat/stats, xlat/flush.  Main thread only. */

/* Registers the commands.  Called once. */
void vse_appctl_init(void);

#endif /* vse-appctl.h */
