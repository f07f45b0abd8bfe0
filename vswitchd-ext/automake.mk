# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Flexiv authors

# The joint with Open vSwitch: compiled against the patched tree, linked into
# ovs-vswitchd by it.

vse_sources = \
	vswitchd-ext/vse-action.c \
	vswitchd-ext/vse-action.h \
	vswitchd-ext/vse-appctl.c \
	vswitchd-ext/vse-appctl.h \
	vswitchd-ext/vse-config.c \
	vswitchd-ext/vse-config.h \
	vswitchd-ext/vse-endpoint.c \
	vswitchd-ext/vse-endpoint.h \
	vswitchd-ext/vse-expire.c \
	vswitchd-ext/vse-expire.h \
	vswitchd-ext/vse-file.c \
	vswitchd-ext/vse-file.h \
	vswitchd-ext/vse-init.c \
	vswitchd-ext/vse-init.h \
	vswitchd-ext/vse-ipfix.c \
	vswitchd-ext/vse-ipfix.h \
	vswitchd-ext/vse-log-file.c \
	vswitchd-ext/vse-log-file.h \
	vswitchd-ext/vse-log.c \
	vswitchd-ext/vse-log.h \
	vswitchd-ext/vse-origin.c \
	vswitchd-ext/vse-origin.h \
	vswitchd-ext/vse-packet.c \
	vswitchd-ext/vse-packet.h \
	vswitchd-ext/vse-query.c \
	vswitchd-ext/vse-query.h \
	vswitchd-ext/vse-record.c \
	vswitchd-ext/vse-record.h \
	vswitchd-ext/vse-row.c \
	vswitchd-ext/vse-row.h \
	vswitchd-ext/vse-send.c \
	vswitchd-ext/vse-send.h \
	vswitchd-ext/vse-sessions.c \
	vswitchd-ext/vse-sessions.h \
	vswitchd-ext/vse-thread.c \
	vswitchd-ext/vse-thread.h \
	vswitchd-ext/vse-trace.c \
	vswitchd-ext/vse-trace.h \
	vswitchd-ext/vse-tuple.c \
	vswitchd-ext/vse-tuple.h \
	vswitchd-ext/vse-zones.c \
	vswitchd-ext/vse-zones.h

# What every program of Open vSwitch needs (parsing, formatting, the hook
# table) is compiled into libopenvswitch, by Open vSwitch's own make, which
# finds it in the tree's folder "vswitchd-ext".
vse_tree_sources = \
	vswitchd-ext/vse-hooks.c \
	vswitchd-ext/vse-hooks.h \
	vswitchd-ext/vse-odp.c \
	vswitchd-ext/vse-odp.h \
	vswitchd-ext/vse-ofpact.c \
	vswitchd-ext/vse-ofpact.h

EXTRA_DIST += $(vse_tree_sources)
if WITH_OVS
noinst_LIBRARIES += vswitchd-ext/libvse.a
vswitchd_ext_libvse_a_SOURCES = $(vse_sources)
# config.h is Open vSwitch's: what names this package is not for it.
vse_flags = \
	-UPACKAGE -UPACKAGE_BUGREPORT -UPACKAGE_NAME -UPACKAGE_STRING \
	-UPACKAGE_TARNAME -UPACKAGE_URL -UPACKAGE_VERSION -UVERSION \
	-Iovs/include -Iovs/lib -Iovs -D_FILE_OFFSET_BITS=64 \
	-I$(abs_top_srcdir)/lib -I$(abs_top_srcdir)/vswitchd-ext \
	-fno-strict-aliasing $(DPDK_CFLAGS)
vswitchd_ext_libvse_a_CPPFLAGS = $(vse_flags)
vswitchd_ext_libvse_a_CFLAGS = $(AM_CFLAGS) -Wno-sign-compare
$(vswitchd_ext_libvse_a_OBJECTS): ovs-headers.stamp
else
EXTRA_DIST += $(vse_sources)
endif
