# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Flexiv authors

# The joint with Open vSwitch: compiled against the patched tree, linked into
# ovs-vswitchd by it.  vse-ofpact.[ch] are not in this list of objects: they
# are compiled into libopenvswitch, see "OVS_LINKS" in ovs-patches/automake.mk.

vse_sources = \
	vswitchd-ext/vse-zones.h

vse_tree_sources =

EXTRA_DIST += $(vse_tree_sources)
if WITH_OVS
noinst_LIBRARIES += vswitchd-ext/libvse.a
vswitchd_ext_libvse_a_SOURCES = $(vse_sources)
vswitchd_ext_libvse_a_CPPFLAGS = \
	-Iovs/include -Iovs/lib -Iovs \
	-I$(top_srcdir)/lib -I$(top_srcdir)/vswitchd-ext
vswitchd_ext_libvse_a_CFLAGS = $(AM_CFLAGS) $(OVS_EXTRA_CFLAGS)
else
EXTRA_DIST += $(vse_sources)
endif
