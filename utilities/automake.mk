# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Flexiv authors

# Commands.  Each lists its sources, its objects' libraries and its manual
# page:
#
#   bin_PROGRAMS += utilities/flex-pcap
#   utilities_flex_pcap_SOURCES = utilities/flex-pcap.c
#   utilities_flex_pcap_LDADD = lib/libxlat.a $(JANSSON_LIBS) $(PCAP_LIBS)
#   dist_man_MANS += utilities/flex-pcap.1
#
# A script: dist_bin_SCRIPTS += utilities/NAME.

# These build and are not installed.
dist_noinst_SCRIPTS += utilities/devroot utilities/ovs-merge utilities/ovs-tree

dist_bin_SCRIPTS += utilities/flex-gw
dist_pkgdata_DATA = utilities/flex_gw_flows.py utilities/flex_gw_packets.py
dist_man_MANS += utilities/flex-gw.8

bin_PROGRAMS += utilities/flex-pcap
utilities_flex_pcap_SOURCES = \
	utilities/conf-json.c \
	utilities/conf-json.h \
	utilities/flex-pcap.c \
	utilities/pcap-file.c \
	utilities/pcap-file.h \
	utilities/pcap-link.c \
	utilities/pcap-link.h \
	utilities/pcap-run.c \
	utilities/pcap-run.h \
	utilities/util-counters.c \
	utilities/util-counters.h \
	utilities/util-text.c \
	utilities/util-text.h
utilities_flex_pcap_LDADD = lib/libxlat.a $(JANSSON_LIBS) $(PCAP_LIBS)
dist_man_MANS += utilities/flex-pcap.1

bashcompdir = $(datadir)/bash-completion/completions
dist_bashcomp_DATA = \
	utilities/completion/flex-gw \
	utilities/completion/flex-pcap
