  <!-- SPDX-License-Identifier: Apache-2.0 -->
  <!-- SPDX-FileCopyrightText: The Flexiv authors -->
  <table name="Xlat_Zone" title="Translation zone">
    <p>
      A zone says how packets are translated between IPv4 and IPv6, between two
      realms of IPv4, or between identifiers and locators.  Packets enter it by
      the OpenFlow actions <code>nat64</code> and <code>ila</code>, described
      in <code>ovs-actions</code>(7), which name it by its number.  Any number
      of flows and bridges may use the same zone.  A flow may name a zone that
      does not exist; its packets are dropped until it does.
    </p>

    <p>
      A row is taken whole or not at all.  If anything about it is wrong, the
      reason is in <ref column="status"/> and the zone goes on with the
      configuration that it had before, if any.  A change is in force when
      <code>ovs-vsctl</code> returns; no packet is translated by a mixture of
      old and new.
    </p>

    <p>
      The database commands of <code>ovs-vsctl</code> take a zone's number or
      its name in the place of a UUID:
    </p>

    <pre>
ovs-vsctl create Xlat_Zone zone=1 name=blue kind=siit \
    pool6='"2001:db8:64::/96"' eamt='{"2001:db8:1::/120"="192.0.2.0/24"}'
ovs-vsctl set Xlat_Zone blue other_config:mtu6=9000
ovs-vsctl destroy Xlat_Zone 1
ovs-vsctl create Xlat_Zone zone=2 name=red kind=nat64 \
    pool6='"64:ff9b::/96"' pool4='"192.0.2.254:1024-65535"' \
    bib='"tcp,[2001:db8:1::1]:80,192.0.2.254:8080"'
    </pre>

    <group title="Identity">
      <column name="zone">
        The number by which OpenFlow actions name the zone.
      </column>

      <column name="name">
        A name for people, which commands accept instead of the number.  It
        must not itself read like a number.  If two zones have the same name,
        the one with the higher number is refused.
      </column>

      <column name="kind">
        <dl>
          <dt><code>siit</code></dt>
          <dd>
            Stateless translation between IPv4 and IPv6 (RFC 7915), for action
            <code>nat64</code>.
          </dd>

          <dt><code>ila</code></dt>
          <dd>
            Translation between identifiers and locators, the upper halves of
            IPv6 destination addresses, for action <code>ila</code>.
          </dd>

          <dt><code>nat64</code></dt>
          <dd>
            Stateful translation between IPv6 inside and IPv4 outside (RFC
            6146), for action <code>nat64</code>: any number of hosts share
            the addresses of <ref column="pool4"/>.
          </dd>

          <dt><code>nat44</code></dt>
          <dd>
            Stateful translation between IPv4 inside and IPv4 outside, also for
            action <code>nat64</code>, by the same rules (RFC 4787, 5382, 5508
            and 6888).  Packets from the addresses in <ref
            column="other_config" key="inside4"/> are from inside.
          </dd>
        </dl>

        <p>
          The kind may change while flows use the zone.  Sessions end when a
          zone becomes one of another kind.
        </p>
      </column>
    </group>

    <group title="Addresses">
      <column name="pool6">
        <p>
          Of a zone of kind <code>siit</code> or <code>nat64</code>: prefixes
          of 32, 40, 48, 56, 64 or 96 bits under which IPv6 addresses embed
          IPv4 addresses (RFC 6052). All are recognized; the first, in the
          order in which <code>ovs-vsctl list</code> shows them, is used for
          addresses that the zone makes.
        </p>

        <p>
          Of a zone of kind <code>ila</code>: SIR prefixes, of 64 bits.
        </p>
      </column>

      <column name="pool4">
        <p>
          Of a zone of kind <code>siit</code>: IPv4 addresses, as
          <code><var>address</var></code> or
          <code><var>address</var>/<var>length</var></code>, one of which,
          chosen at random, stands for an IPv6 router that has no IPv4 address
          as source of an ICMP error (RFC 6791).
        </p>

        <p>
          Of a zone of kind <code>nat64</code> or <code>nat44</code>: the
          addresses that bindings get, all of their ports or, as in
          <code><var>address</var>:<var>low</var>-<var>high</var></code>, some;
          an address may be there more than once, with other ports.  Ports are
          also identifiers of ICMP.  A host keeps its address as long as that
          has a port left.  4096 addresses at most.  When one is removed, its
          sessions end.
        </p>
      </column>

      <column name="eamt">
        Explicit address mappings (RFC 7757), from IPv6 prefix to IPv4 prefix.
        They go before <ref column="pool6"/>.  The longest matching prefix wins
        in either direction.  Some 10,000 are reasonable here; for more, see
        <ref column="other_config" key="eamt-file"/>.
      </column>

      <column name="bib">
        <p>
          Static bindings of a zone of kind <code>nat64</code> or
          <code>nat44</code>, by which hosts outside reach one inside that has
          not sent anything (RFC 6146, section 3.1):
          <code><var>protocol</var>,<var>inside</var>,<var>outside</var></code>,
          both with a port.  <var>protocol</var> is <code>tcp</code>,
          <code>udp</code> or <code>icmp</code>, with identifiers in the place
          of ports.  Behind that there may be
          <code>,tenant=<var>number</var></code>.  An IPv6 address stands in
          brackets, as in <code>tcp,[2001:db8:1::1]:80,192.0.2.1:80</code>; of
          a <code>nat44</code> zone, for instance,
          <code>udp,10.0.0.1:53,192.0.2.1:53,tenant=7</code>.
        </p>

        <p>
          The outside must be in <ref column="pool4"/>.  A binding that hosts
          have made themselves and that is in the way of a static one ends.
          Limits do not apply to static bindings, but to their sessions.
        </p>
      </column>
    </group>

    <group title="Files">
      <p>
        Files are named by absolute path, on the machine on which
        <code>ovs-vswitchd</code> runs.  They are read again within seconds
        after they have changed, and at once when the database changes.
        Replace a file by <code>rename</code>(2) (<code>mv</code>) rather than
        writing it in place.  If it cannot be read, the row is refused as if
        it were wrong itself, and read again when the file has changed.
      </p>

      <p>
        A million entries take the main thread about a second.  Packets are
        forwarded meanwhile; other changes of configuration and the first
        packets of new flows may have to wait.
      </p>

      <column name="other_config" key="eamt-file">
        Explicit address mappings in addition to <ref column="eamt"/>: one
        <code><var>prefix6</var> <var>prefix4</var></code> a line.  Blank
        lines and what follows <code>#</code> are ignored.
      </column>

      <column name="other_config" key="mapping-file">
        ILA mappings in addition to table <ref table="Ila_Mapping"/>: one
        <code><var>identifier</var> <var>locator</var>
        [<var>csum_mode</var> [<var>ident_type</var>]]</code> a line.
      </column>
    </group>

    <group title="Sizes">
      <column name="other_config" key="mtu6"
              type='{"type": "integer", "minInteger": 1280,
                     "maxInteger": 65535}'>
        MTU of the IPv6 side, in bytes.  Default: 1500.
      </column>

      <column name="other_config" key="mtu4"
              type='{"type": "integer", "minInteger": 68,
                     "maxInteger": 65535}'>
        MTU of the IPv4 side, in bytes.  Default: 1500.
      </column>

      <column name="other_config" key="lowest-ipv6-mtu"
              type='{"type": "integer", "minInteger": 1280,
                     "maxInteger": 65535}'>
        IPv4 packets that may be fragmented and become larger than this leave
        as IPv6 fragments of at most this size.  Never more than <ref
        column="other_config" key="mtu6"/>.  Default: 1280.
      </column>
    </group>

    <group title="What happens to a packet">
      <column name="other_config" key="miss"
              type='{"type": "string", "enum": ["set", ["drop", "pass"]]}'>
        A packet that the zone has no mapping for, or that is not IP, is
        dropped (the default), or goes on unchanged.
      </column>

      <column name="other_config" key="deny">
        Prefixes of either family, separated by commas.  Addresses in them are
        not translated, neither as source nor as destination, whatever
        mappings there are.
      </column>

      <column name="other_config" key="udp-zero-checksum"
              type='{"type": "string", "enum": ["set", ["drop", "compute",
                                                        "forward"]]}'>
        A UDP packet without a checksum, of either IP version, is dropped (the
        default), gets one, or is translated without one.  From IPv4 to IPv4 it
        goes on without one, whatever this says.
      </column>

      <column name="other_config" key="hairpin"
              type='{"type": "string", "enum": ["set", ["none", "simple",
                                                        "intrinsic"]]}'>
        How two IPv6 nodes that have entries in <ref column="eamt"/> reach each
        other by their IPv4 addresses (RFC 7757, 4).  Default:
        <code>none</code>.
      </column>

      <column name="other_config" key="eamt-overlap"
              type='{"type": "string", "enum": ["set", ["longest-match",
                                                        "refuse"]]}'>
        Whether entries of <ref column="eamt"/> may lie within others.  Two
        entries with the same prefix on either side are refused always.
        Default: <code>longest-match</code>.
      </column>

      <column name="other_config" key="wkp-non-global"
              type='{"type": "string", "enum": ["set", ["drop",
                                                        "translate"]]}'>
        What happens to IPv4 addresses that are not global under the
        well-known prefix 64:ff9b::/96, which is not meant for them (RFC 6052,
        3.1).  Default: <code>drop</code>.
      </column>

      <column name="other_config" key="reset-traffic-class"
              type='{"type": "boolean"}'>
        IPv4 to IPv6: traffic class 0 instead of a copy of the TOS byte.
        Default: <code>false</code>.
      </column>

      <column name="other_config" key="tos-override">
        IPv6 to IPv4: the TOS byte, 0 to 255, instead of a copy of the traffic
        class.  Default: <code>none</code>.
      </column>
    </group>

    <group title="Sessions">
      <p>
        These are for zones of kind <code>nat64</code> and <code>nat44</code>.
        <code>ovs-appctl xlat/sessions</code> shows the sessions.
      </p>

      <column name="other_config" key="filtering"
              type='{"type": "string", "enum": ["set",
                     ["endpoint-independent", "address-dependent"]]}'>
        Whether any host outside may send to a binding, or only those that have
        been sent to (RFC 4787, section 5).  Default:
        <code>endpoint-independent</code>.
      </column>

      <column name="other_config" key="fragment-timeout"
              type='{"type": "integer", "minInteger": 2,
                     "maxInteger": 60}'>
        Seconds that the fragments of a packet belong together: so long may
        they come behind the first of them, and so long are those kept that
        come before it.  Default: 2.
      </column>

      <column name="other_config" key="fragments-held"
              type='{"type": "integer", "minInteger": 0,
                     "maxInteger": 65536}'>
        Fragments that the zone keeps until the first one of their packet
        comes, without which nobody knows their session.  With more of them,
        the next are dropped.  Default: 256.
      </column>

      <column name="other_config" key="icmp-timeout"
              type='{"type": "integer", "minInteger": 1,
                     "maxInteger": 4000000}'>
        Seconds that an ICMP query session lives without packets.  Default: 60.
      </column>

      <column name="other_config" key="inside4">
        Of kind <code>nat44</code>: IPv4 prefixes, separated by commas, whose
        hosts are inside.  Packets from them are translated to <ref
        column="pool4"/>, all others only from <ref column="pool4"/> back.
        Default: 10.0.0.0/8, 100.64.0.0/10, 172.16.0.0/12 and 192.168.0.0/16.
      </column>

      <column name="other_config" key="mapping"
              type='{"type": "string", "enum": ["set",
                     ["endpoint-independent", "per-flow"]]}'>
        Whether all sessions of an inside address and port have the same
        outside address and port, or each its own (RFC 4787, section 4.1).
        Default: <code>endpoint-independent</code>.
      </column>

      <column name="other_config" key="max-sessions"
              type='{"type": "integer", "minInteger": 1,
                     "maxInteger": 100000000}'>
        Sessions that there may be at once.  Memory is taken for all of them
        when the zone is configured; after a change, sessions go on as far as
        they fit.  Default: 262144.
      </column>

      <column name="other_config" key="port-reuse-delay"
              type='{"type": "integer", "minInteger": 0,
                     "maxInteger": 86400}'>
        Seconds until a port of UDP or TCP whose binding has ended is used
        again (RFC 6888, section 3), as long as one in eight of the pool's
        ports is free.  Default: 120.
      </column>

      <column name="other_config" key="stored-syns"
              type='{"type": "integer", "minInteger": 0,
                     "maxInteger": 65536}'>
        SYNs from outside, to an address and port without a binding or from a
        host that is filtered, that may wait at once for one from inside (RFC
        6146, section 3.5.2).  None of them gets an answer until <ref
        column="other_config" key="tcp-incoming-syn-timeout"/> is over, then
        each that is still alone gets an ICMP error.  With more of them, the
        oldest are forgotten; with 0, each is refused at once.  Default:
        1024.
      </column>

      <column name="other_config" key="tcp-established-timeout"
              type='{"type": "integer", "minInteger": 1,
                     "maxInteger": 4000000}'>
        Seconds that an established TCP session lives without packets (RFC
        6146, section 4).  Default: 7440.
      </column>

      <column name="other_config" key="tcp-incoming-syn-timeout"
              type='{"type": "integer", "minInteger": 1,
                     "maxInteger": 4000000}'>
        Seconds that a SYN from outside waits for one from inside.  Default: 6.
      </column>

      <column name="other_config" key="tcp-probe"
              type='{"type": "boolean"}'>
        Whether a host inside whose established TCP session has been without
        packets for <ref column="other_config" key="tcp-established-timeout"/>
        is asked, by a segment without data, whether the connection still
        exists (RFC 6146, section 3.5.2.2): it then has <ref
        column="other_config" key="tcp-transitory-timeout"/> for an answer.
        Otherwise the session ends.  Default: <code>true</code>.
      </column>

      <column name="other_config" key="tcp-transitory-timeout"
              type='{"type": "integer", "minInteger": 1,
                     "maxInteger": 4000000}'>
        Seconds that a TCP session lives without packets while it begins or
        ends.  Default: 240.
      </column>

      <column name="other_config" key="udp-timeout"
              type='{"type": "integer", "minInteger": 120,
                     "maxInteger": 4000000}'>
        Seconds that a UDP session lives without packets.  Default: 300.
      </column>
    </group>

    <group title="Limits, and who gets which ports">
      <p>
        Also for zones of kind <code>nat64</code> and <code>nat44</code>.  A
        subscriber is an address inside, or a prefix, of one tenant (RFC 6888).
        A limit of 0, the default of all, is none, unless something else is
        said.  A packet that would pass one is dropped, and counted under the
        name of the limit.
      </p>

      <column name="other_config" key="max-ports"
              type='{"type": "integer", "minInteger": 0,
                     "maxInteger": 268435456}'>
        Bindings that the zone may have at once.
      </column>

      <column name="other_config" key="max-subscribers"
              type='{"type": "integer", "minInteger": 0,
                     "maxInteger": 16777216}'>
        Subscribers that limits and blocks of ports are kept for at once.  0:
        one in 256 of <ref column="other_config" key="max-sessions"/>, but at
        least 1024 or as many as sessions.
      </column>

      <column name="other_config" key="port-block-size"
              type='{"type": "integer", "minInteger": 0,
                     "maxInteger": 4096}'>
        Ports in a block, a power of 2 from 64: a subscriber gets its ports in
        whole blocks, so that a log needs one line a block (RFC 6888, section
        4).  0, the default: ports one by one.  A change ends all sessions.
      </column>

      <column name="other_config" key="port-blocks"
              type='{"type": "integer", "minInteger": 1,
                     "maxInteger": 8}'>
        Blocks of ports that a subscriber may have.  Default: 4.
      </column>

      <column name="other_config" key="session-rate"
              type='{"type": "integer", "minInteger": 0,
                     "maxInteger": 100000000}'>
        Sessions that may begin in a second.
      </column>

      <column name="other_config" key="share">
        <var>k</var>/<var>n</var>, for one <ref column="pool4"/> that
        <var>n</var> holders have together: this one, number <var>k</var> from
        0, takes ports <var>p</var> with <var>p</var> / 64 modulo <var>n</var>
        = <var>k</var>, so that the holder of a port follows from its number.
        Default: <code>0/1</code>.
      </column>

      <column name="other_config" key="subscriber-ports"
              type='{"type": "integer", "minInteger": 0,
                     "maxInteger": 16777216}'>
        Bindings that a subscriber may have at once.
      </column>

      <column name="other_config" key="subscriber-prefix6"
              type='{"type": "integer", "minInteger": 32,
                     "maxInteger": 128}'>
        Of kind <code>nat64</code>: length of the prefix whose addresses are
        one subscriber.  Default: 128.
      </column>

      <column name="other_config" key="subscriber-rate"
              type='{"type": "integer", "minInteger": 0,
                     "maxInteger": 100000000}'>
        Sessions that a subscriber may begin in a second.
      </column>

      <column name="other_config" key="subscriber-sessions"
              type='{"type": "integer", "minInteger": 0,
                     "maxInteger": 16777216}'>
        Sessions that a subscriber may have at once.  Those from before a limit
        was set do not count.
      </column>
    </group>

    <group title="Log of sessions">
      <p>
        Also for zones of kind <code>nat64</code> and <code>nat44</code>: who
        had which outside address and port, and when.  No record has the
        address of a host outside (RFC 6888, section 4).
      </p>

      <column name="other_config" key="log"
              type='{"type": "string", "enum": ["set", ["none", "blocks",
                                                        "bindings",
                                                        "sessions"]]}'>
        What is recorded when it begins and when it ends: nothing (the
        default), blocks of ports (see <ref column="other_config"
        key="port-block-size"/>), bindings, or sessions.
      </column>

      <column name="other_config" key="log-rate"
              type='{"type": "integer", "minInteger": 1,
                     "maxInteger": 10000000}'>
        Records a second in syslog and files.  How many are left out is
        recorded.  Default: 1000.
      </column>

      <column name="other_config" key="log-to">
        <code>syslog</code>; <code>file:<var>path</var></code>, to whose end
        records are appended; or
        <code>ipfix:<var>address</var>[:<var>port</var>]</code>, a collector
        that gets them by UDP (RFC 8158).
      </column>
    </group>

    <group title="ICMP errors that the zone makes">
      <column name="other_config" key="icmp-error-rate"
              type='{"type": "integer", "minInteger": 0,
                     "maxInteger": 1000000}'>
        So many a second at most; 0 for none at all.  Default: 1000.
      </column>

      <column name="other_config" key="icmp-error-burst"
              type='{"type": "integer", "minInteger": 1,
                     "maxInteger": 1000000}'>
        So many at once.  Default: 1000.
      </column>

      <column name="other_config" key="icmp-source4">
        Their IPv4 source address.  By default a random address of <ref
        column="pool4"/>, or else the destination of the packet that the error
        is about.
      </column>

      <column name="other_config" key="icmp-source6">
        Their IPv6 source address.  By default the destination of the packet
        that the error is about.
      </column>
    </group>

    <group title="Status">
      <column name="status" key="state"
              type='{"type": "string", "enum": ["set", ["active",
                                                        "refused"]]}'>
        Whether the row is in force.
      </column>

      <column name="status" key="error">
        Why it is refused.
      </column>

      <column name="status" key="in-force"
              type='{"type": "string", "enum": ["set", ["previous",
                                                        "none"]]}'>
        What the zone does while its row is refused: go on with the previous
        configuration, or nothing, as if it did not exist.
      </column>
    </group>

    <group title="Statistics">
      <p>
        Counters of packets, but for <code>bytes</code>.  They go on when the
        configuration changes, never fall, and begin at 0 when
        <code>ovs-vswitchd</code> starts or the row is created.  They are
        updated at the interval of <ref table="Open_vSwitch"
        column="other_config" key="stats-update-interval"/>;
        <code>ovs-appctl xlat/stats</code> shows them as of now.  Every packet
        that enters is translated, answered, passed or dropped:
        <code>packets</code> is the sum of <code>translated</code>,
        <code>replies</code>, <code>passed</code> and all
        <code>drop-<var>reason</var></code>.
      </p>

      <column name="statistics" key="packets">
        Packets that have entered the zone.
      </column>
      <column name="statistics" key="bytes">
        Their length before translation, IP header included.
      </column>
      <column name="statistics" key="translated">
        Packets that were translated.
      </column>
      <column name="statistics" key="translated-44">
        Of these, from IPv4 to IPv4.
      </column>
      <column name="statistics" key="translated-46">
        Of these, from IPv4 to IPv6.
      </column>
      <column name="statistics" key="translated-64">
        Of these, from IPv6 to IPv4.
      </column>
      <column name="statistics" key="translated-66">
        Of these, from IPv6 to IPv6 (ILA, hairpins).
      </column>
      <column name="statistics" key="fragmented">
        Of these, packets that left as fragments.
      </column>
      <column name="statistics" key="passed">
        Packets that went on unchanged.
      </column>
      <column name="statistics" key="replies">
        Packets answered by an ICMP error.  The reasons are in
        <code>reply-<var>reason</var></code>.
      </column>
      <column name="statistics" key="replies-limited">
        ICMP errors that were not made for <ref column="other_config"
        key="icmp-error-rate"/>.  Their packets count as dropped.
      </column>
    </group>
  </table>

  <table name="Ila_Mapping" title="Mapping from identifier to locator">
    <p>
      Where the node with an identifier is to be found, for a zone of kind
      <code>ila</code>.  A row for a zone that does not exist has no effect
      until it does.  A row that is wrong makes the zone's row in table <ref
      table="Xlat_Zone"/> refused.  <code>ovs-appctl xlat/mappings</code> shows
      counters for each mapping.
    </p>

    <column name="zone">
      The zone's number.
    </column>

    <column name="identifier">
      The lower half of an address: four groups of up to four hexadecimal
      digits, for instance <code>5555:0:2:0</code>.
    </column>

    <column name="locator">
      The upper half that packets to this identifier get, likewise.
    </column>

    <column name="csum_mode">
      <p>How transport checksums stay right:</p>
      <dl>
        <dt><code>adj-transport</code></dt>
        <dd>They are adjusted.  The default.</dd>

        <dt><code>neutral-map</code></dt>
        <dd>
          The identifier's low 16 bits absorb the difference, and its C bit
          says so.
        </dd>

        <dt><code>neutral-map-auto</code></dt>
        <dd>Likewise, without a C bit.</dd>

        <dt><code>no-action</code></dt>
        <dd>They do not.</dd>
      </dl>
    </column>

    <column name="ident_type">
      What the identifier's upper bits mean: <code>none</code> (the default: an
      opaque 64-bit value), or a type that the identifier must have:
      <code>iid</code>, <code>luid</code>, <code>v4</code>, <code>v6</code>,
      <code>v6-multicast</code> or <code>nonlocal</code>.
      <code>virt-v4</code>, <code>virt-uni-v6</code>, <code>virt-multi-v6</code>
      and <code>nonlocal-addr</code> are other words for the last four.
    </column>
  </table>
