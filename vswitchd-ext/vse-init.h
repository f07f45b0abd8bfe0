/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef VSE_INIT_H
#define VSE_INIT_H 1

/* Puts the extension into ovs-vswitchd: fills the table of hooks and registers
 * our commands.  Called once, by main(), before any bridge exists. */
void vse_init(void);

#endif /* vse-init.h */
