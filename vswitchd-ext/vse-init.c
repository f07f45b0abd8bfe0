/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */
#include <config.h>

#include "vse-init.h"

#include "vse-action.h"
#include "vse-appctl.h"
#include "vse-config.h"
#include "vse-hooks.h"

void
vse_init(void)
{
    static struct vse_hooks hooks;

    vse_action_register(&hooks);
    vse_config_register(&hooks);
    vse_appctl_init();
    vse_hooks = &hooks;
}
