/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The Flexiv authors */

#include <config.h>
#include "vse-hooks.h"

const struct vse_hooks *vse_hooks;
