# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Flexiv authors

# The lowest floor: libc only.  One archive, linked into ovs-vswitchd, the
# commands and the unit tests.

noinst_LIBRARIES += lib/libxlat.a
lib_libxlat_a_SOURCES = \
	lib/ila-csum.c \
	lib/ila-csum.h \
	lib/ila-map.c \
	lib/ila-map.h \
	lib/ila-mapping.c \
	lib/ila-mapping.h \
	lib/ila-stats.c \
	lib/ila-stats.h \
	lib/ila.c \
	lib/ila.h \
	lib/pk-csum.c \
	lib/pk-csum.h \
	lib/pk-frag.c \
	lib/pk-frag.h \
	lib/pk-parse.c \
	lib/pk-parse.h \
	lib/pk.h \
	lib/xlat-46.c \
	lib/xlat-6052.c \
	lib/xlat-6052.h \
	lib/xlat-64.c \
	lib/xlat-addr-fast.h \
	lib/xlat-addr-map.h \
	lib/xlat-addr.c \
	lib/xlat-addr.h \
	lib/xlat-conf-private.h \
	lib/xlat-conf.c \
	lib/xlat-conf.h \
	lib/xlat-counters.c \
	lib/xlat-deny.c \
	lib/xlat-deny.h \
	lib/xlat-drop.c \
	lib/xlat-drop.def \
	lib/xlat-eamt.c \
	lib/xlat-eamt.h \
	lib/xlat-fast.h \
	lib/xlat-hash.c \
	lib/xlat-hash.h \
	lib/xlat-hdr.h \
	lib/xlat-icmp-error.c \
	lib/xlat-icmp-error.h \
	lib/xlat-icmp.c \
	lib/xlat-icmp.h \
	lib/xlat-l4.c \
	lib/xlat-pool.c \
	lib/xlat-pool.h \
	lib/xlat-prefix.c \
	lib/xlat-prefix.h \
	lib/xlat-private.h \
	lib/xlat-reply.c \
	lib/xlat-rewrite.c \
	lib/xlat-rewrite.h \
	lib/xlat-run.c \
	lib/xlat-settings.c \
	lib/xlat-settings.def \
	lib/xlat-settings.h \
	lib/xlat-siit.c \
	lib/xlat-special.c \
	lib/xlat-special.h \
	lib/xlat-stats.c \
	lib/xlat-stats.h \
	lib/xlat-text.c \
	lib/xlat-text.h \
	lib/xlat-zone-private.h \
	lib/xlat-zone.c \
	lib/xlat-zone.h \
	lib/xlat.h
