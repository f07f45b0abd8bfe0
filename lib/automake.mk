# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Flexiv authors

# The lowest floor: libc only.  One archive, linked into ovs-vswitchd, the
# commands and the unit tests.

noinst_LIBRARIES += lib/libxlat.a
lib_libxlat_a_SOURCES = \
	lib/pk.h \
	lib/pk-frag.h \
	lib/xlat.h \
	lib/xlat-conf.h \
	lib/xlat-drop.def \
	lib/xlat-rewrite.h \
	lib/xlat-settings.h \
	lib/xlat-zone.h
