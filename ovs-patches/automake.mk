# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Flexiv authors

# Open vSwitch itself: "ovs" in the build folder is a link to the patched tree,
# "ovs-plain" one to a tree without patches, which is made only for the checks
# and benches that compare the two.  utilities/ovs-tree says how trees are
# made and named.

EXTRA_DIST += \
	ovs-patches/series \
	$(wildcard $(srcdir)/ovs-patches/*.patch) \
	$(wildcard $(srcdir)/ovs-patches/*.frag)

# A run folder and a database of our own, whatever the prefix is.
OVS_CONFIGURE_ARGS = \
	--prefix='$(prefix)' \
	--bindir='$(bindir)' \
	--sbindir='$(sbindir)' \
	--mandir='$(mandir)' \
	--libdir='$(libdir)' \
	--datarootdir='$(datarootdir)' \
	--sysconfdir='$(sysconfdir)' \
	--localstatedir='$(localstatedir)' \
	--with-rundir='$(localstatedir)/run/flexiv' \
	--with-logdir='$(localstatedir)/log/flexiv' \
	--with-dbdir='$(sysconfdir)/flexiv' \
	--with-dpdk=shared --enable-silent-rules \
	CC='$(CC)' CFLAGS='$(CFLAGS)' LDFLAGS='$(LDFLAGS)'

ovs_tree = PYTHON='$(PYTHON)' PATCH='$(PATCH)' \
	$(top_srcdir)/utilities/ovs-tree \
	--source='$(OVS_SOURCE)' --version='$(OVS_VERSION)' \
	--top='$(abs_top_srcdir)' --sources='$(vse_tree_sources)' \
	--seed='$(OVS_SEED)' --tools='dpdk $(DPDK_VERSION)'

# Those of Open vSwitch's generated headers that ours may include.
ovs_built_headers = \
	include/odp-netlink.h \
	include/odp-netlink-macros.h \
	lib/vswitch-idl.h \
	ofproto/ipfix-entities.def

if WITH_OVS

# The recipe runs each time, but touches the stamp only when the tree is
# another one than before.
ovs.stamp: FORCE
	@$(ovs_tree) --link=ovs --patches='$(abs_top_srcdir)/ovs-patches' \
		-- $(OVS_CONFIGURE_ARGS)

ovs-headers.stamp: ovs.stamp
	$(AM_V_GEN)$(MAKE) $(AM_MAKEFLAGS) -C ovs --no-print-directory \
		$(ovs_built_headers) && touch $@

ovs-plain.stamp: FORCE
	@$(ovs_tree) --link=ovs-plain -- $(OVS_CONFIGURE_ARGS)

# Whether there is anything to do takes Open vSwitch's make seconds to find
# out, so it is asked only when something of ours has changed.
ovs-built.stamp: ovs.stamp lib/libxlat.a vswitchd-ext/libvse.a \
		$(vse_tree_sources) $(lib_libxlat_a_SOURCES)
	+@$(MAKE) $(AM_MAKEFLAGS) -C ovs --no-print-directory all
	@touch $@

ovs-plain-built.stamp: ovs-plain.stamp
	+@$(MAKE) $(AM_MAKEFLAGS) -C ovs-plain --no-print-directory all
	@touch $@

ovs-all: ovs-built.stamp
ovs-plain-all: ovs-plain-built.stamp

ovs-install: ovs-all
	+$(MAKE) $(AM_MAKEFLAGS) -C ovs install

ovs-uninstall:
	+$(MAKE) $(AM_MAKEFLAGS) -C ovs uninstall

PHONY += ovs-all ovs-plain-all ovs-install ovs-uninstall
ALL_LOCAL += ovs-all
INSTALL_LOCAL += ovs-install
UNINSTALL_LOCAL += ovs-uninstall

endif WITH_OVS

# Trees take minutes to make: "make clean" leaves them.
clean-ovs:
	rm -rf ovs-[0-9]* ovs ovs-plain ovs*.stamp .ovs-tree.lock

DISTCLEAN_LOCAL += clean-ovs
PHONY += clean-ovs
