# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Flexiv authors

# The joint with Open vSwitch: compiled against the patched tree, linked into
# ovs-vswitchd by it.

vse_sources = \
	vswitchd-ext/vse-zones.h

# What every program of Open vSwitch needs (parsing, formatting, the hook
# table) is compiled into libopenvswitch, by Open vSwitch's own make, which
# finds it in the tree's folder "flexiv".
vse_tree_sources =

EXTRA_DIST += $(vse_tree_sources)
if WITH_OVS
noinst_LIBRARIES += vswitchd-ext/libvse.a
vswitchd_ext_libvse_a_SOURCES = $(vse_sources)
vswitchd_ext_libvse_a_CPPFLAGS = \
	-Iovs/include -Iovs/lib -Iovs -D_FILE_OFFSET_BITS=64 \
	-I$(top_srcdir)/lib -I$(top_srcdir)/vswitchd-ext
vswitchd_ext_libvse_a_CFLAGS = \
	$(AM_CFLAGS) -Wno-sign-compare -fno-strict-aliasing $(DPDK_CFLAGS)
$(vswitchd_ext_libvse_a_OBJECTS): ovs-headers.stamp
else
EXTRA_DIST += $(vse_sources)
endif
