# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Flexiv authors

# FLEXIV_WARNINGS
#
# Warnings of our own code; --enable-Werror makes them fatal.
AC_DEFUN([FLEXIV_WARNINGS],
  [AC_ARG_ENABLE([Werror],
     [AS_HELP_STRING([--enable-Werror], [make warnings errors])])
   WARNING_CFLAGS="-Wall -Wextra -Wno-unused-parameter -Wstrict-prototypes"
   WARNING_CFLAGS="$WARNING_CFLAGS -Wold-style-definition -Wshadow"
   WARNING_CFLAGS="$WARNING_CFLAGS -Wmissing-prototypes -Wpointer-arith"
   AS_IF([test "x$enable_Werror" = xyes],
     [WARNING_CFLAGS="$WARNING_CFLAGS -Werror"])
   AC_SUBST([WARNING_CFLAGS])])

# FLEXIV_LIBRARIES
#
# What the commands and the tests need.
AC_DEFUN([FLEXIV_LIBRARIES],
  [PKG_CHECK_MODULES([CHECK], [check >= 0.10], [],
     [AC_MSG_ERROR([libcheck is missing: install package "check"])])
   PKG_CHECK_MODULES([JANSSON], [jansson >= 2.7], [],
     [AC_MSG_ERROR([jansson is missing: install package "libjansson-dev"])])
   PKG_CHECK_MODULES([PCAP], [libpcap >= 1.9], [],
     [AC_MSG_ERROR([libpcap is missing: install package "libpcap-dev"])])
   PKG_CHECK_MODULES([NL], [libnl-3.0 libnl-route-3.0 libnl-genl-3.0], [],
     [AC_MSG_ERROR([libnl is missing: install packages "libnl-3-dev", ]dnl
[ "libnl-route-3-dev" and "libnl-genl-3-dev"])])])

# FLEXIV_OVS_SOURCE
#
# Finds the Open vSwitch source that ovs-patches/ is for.  --disable-ovs
# leaves Open vSwitch out: what remains are lib, the commands, their tests.
AC_DEFUN([FLEXIV_OVS_SOURCE],
  [AC_ARG_WITH([ovs-source],
     [AS_HELP_STRING([--with-ovs-source=DIR],
        [source of Open vSwitch 4.0.x @<:@/usr/src/openvswitch@:>@])],
     [], [with_ovs_source=/usr/src/openvswitch])
   AC_ARG_ENABLE([ovs],
     [AS_HELP_STRING([--disable-ovs],
        [do not build Open vSwitch, only what works without it])])
   AC_ARG_WITH([ovs-seed],
     [AS_HELP_STRING([--with-ovs-seed=DIR],
        [a built tree (ovs/ in another build folder) to start from, so that]
        [less of Open vSwitch is compiled])],
     [], [with_ovs_seed=])
   AM_CONDITIONAL([WITH_OVS], [test "x$enable_ovs" != xno])
   AM_COND_IF([WITH_OVS],
     [AS_IF([test "x$PATCH" = xno],
        [AC_MSG_ERROR([patch is missing: install package "patch"])])
      AC_MSG_CHECKING([for Open vSwitch 4.0.x source])
      AS_CASE([$with_ovs_source], [/*], [],
        [with_ovs_source=`cd "$with_ovs_source" 2>/dev/null && pwd`])
      AS_IF([test ! -f "$with_ovs_source/configure.ac"],
        [AC_MSG_RESULT([no])
         AC_MSG_ERROR([no Open vSwitch source in "$with_ovs_source": ]dnl
[install package "openvswitch-source" or give --with-ovs-source=DIR])])
      OVS_VERSION=`sed -n 's/^A[[C]]_INIT.openvswitch, *\([[^,]]*\),.*/\1/p' \
                   "$with_ovs_source/configure.ac"`
      AC_MSG_RESULT([$OVS_VERSION])
      AS_CASE([$OVS_VERSION], [4.0.*], [],
        [AC_MSG_ERROR([Open vSwitch 4.0.x is wanted, but ]dnl
["$with_ovs_source" has version "$OVS_VERSION": give a 4.0.x tree ]dnl
[by --with-ovs-source=DIR])])])
   OVS_SOURCE=$with_ovs_source
   OVS_SEED=$with_ovs_seed
   DISTCHECK_OVS_FLAGS="--with-ovs-source='$OVS_SOURCE'"
   DISTCHECK_OVS_FLAGS="$DISTCHECK_OVS_FLAGS --with-ovs-seed='$PWD/ovs'"
   ASAN_OVS_FLAGS="--with-ovs-source='$OVS_SOURCE'"
   AM_COND_IF([WITH_OVS], [],
     [DISTCHECK_OVS_FLAGS=--disable-ovs
      ASAN_OVS_FLAGS=--disable-ovs])
   AC_SUBST([DISTCHECK_OVS_FLAGS])
   AC_SUBST([ASAN_OVS_FLAGS])
   AC_SUBST([OVS_SOURCE])
   AC_SUBST([OVS_SEED])
   AC_SUBST([OVS_VERSION])])

# FLEXIV_DPDK
#
# Open vSwitch finds DPDK by pkg-config itself; this is for the version.
AC_DEFUN([FLEXIV_DPDK],
  [AM_COND_IF([WITH_OVS],
     [PKG_CHECK_EXISTS([libdpdk], [],
        [AC_MSG_ERROR([DPDK >= 25.11 is wanted, but pkg-config finds no ]dnl
[libdpdk: install package "libdpdk-dev" or set PKG_CONFIG_PATH])])
      DPDK_VERSION=`$PKG_CONFIG --modversion libdpdk`
      AC_MSG_CHECKING([for DPDK >= 25.11])
      AC_MSG_RESULT([$DPDK_VERSION])
      PKG_CHECK_EXISTS([libdpdk >= 25.11], [],
        [AC_MSG_ERROR([DPDK >= 25.11 is wanted, but pkg-config finds ]dnl
["$DPDK_VERSION": set PKG_CONFIG_PATH to a newer one])])
      PKG_CHECK_MODULES([DPDK], [libdpdk >= 25.11])
      # The x86 baseline that DPDK names would undo the user's -march.
      DPDK_CFLAGS=`echo " $DPDK_CFLAGS " | sed 's/ -march=[[^ ]]* / /g'`])
   AC_SUBST([DPDK_VERSION])
   AC_SUBST([DPDK_CFLAGS])])
