/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#ifndef VSE_INIT_H
#define VSE_INIT_H 1

/* The extension in ovs-vswitchd's main(). */

/* Puts the extension into ovs-vswitchd: fills the table of hooks and registers
 * our commands.  Called once, before any bridge exists. */
void vse_init(void);

/* Do what is to be done in each turn of the main loop, and arrange to wake up
 * for more. */
void vse_run(void);
void vse_wait(void);

#endif /* vse-init.h */
