/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#include <config.h>

#include "vse-init.h"

#include "vse-action.h"
#include "vse-appctl.h"
#include "vse-config.h"
#include "vse-hooks.h"
#include "vse-sessions.h"

void
vse_init(void)
{
    static struct vse_hooks hooks;

    vse_action_register(&hooks);
    vse_config_register(&hooks);
    vse_appctl_init();
    vse_hooks = &hooks;
}

void
vse_run(void)
{
    vse_sessions_run();
}

void
vse_wait(void)
{
    vse_sessions_wait();
}
