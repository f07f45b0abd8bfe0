.. SPDX-License-Identifier: Apache-2.0
.. SPDX-FileCopyrightText: The Flexiv authors


Translation Actions
===================

The ``nat64`` action
--------------------
..
  name: NAT64

**Syntax**:
  | ``nat64(zone=``\ *zone*\ [``,tenant=``\ *value*]\ ``)``
  | ``nat64(zone=``\ *zone*\ ``,tenant=``\ *field*\ [``[``\ *start*\ ``..``\ *end*\ ``]``]\ ``)``

Translates the packet between IPv6 and IPv4, or between two realms of IPv4, by
translation zone *zone*, a number between 0 and 65535: see ``Xlat_Zone`` in
``ovs-vswitchd.conf.db``\ (5).  What it does with a packet is a matter of the
zone's kind, which may change while flows stay.

What follows the action sees the translated packet.  Where it only sets
Ethernet addresses, tunnel fields or registers and outputs the packet, this
costs nothing more; whatever needs the new network or transport header (a
table, a field of theirs, a ``select`` group, ``controller``, ``learn``, ...)
makes the packet recirculate, as behind ``pop_mpls``.  In particular:

- VLAN tags are kept.  The packet's connection tracking state is cleared.
- A list of actions may name fields of either IP version behind ``nat64``,
  whatever its flow matches, since the result is a matter of the zone and of
  the packet: ``nw_dst`` in a flow that matches ``ipv6``, for instance.  An
  action that sets a field that the result does not have does nothing, and one
  that reads it reads 0.
- The group buckets that follow, and the actions behind a group, see the packet
  as it was in front of the group.
- In an action set, ``nat64`` is executed behind ``push_vlan`` and in front of
  ``dec_ttl`` and ``set_field``.  The last one counts.
- Not with ``push_mpls`` or ``encap`` in one action set, which are executed in
  front of it and leave nothing to translate.
- Nothing but Ethernet ports and tunnels that carry Ethernet behind it, unless
  it recirculates first: a tunnel of type ``legacy_l3`` announces the family
  from before.
- A tunnel that inherits TOS or TTL from a packet that has not recirculated
  takes that from before the translation.

With ``tenant``, a stateful zone tells tenants apart: hosts inside with equal
addresses, of different tenants, are different hosts.  The number of the tenant
that a packet from inside belongs to is *value*, from 0 to 2\ :sup:`32`\ -1, or
is read from *field*, any field or subfield of up to 32 bits (``reg0``,
``tun_id[0..23]``, ``vlan_vid``), as it is when the action is executed.  Each
number gets a datapath flow of its own.  Without ``tenant``, it is 0.

A packet from outside belongs to the tenant of its session or binding, whatever
``tenant`` says.  Packets that a stateful zone translates leave an action that
has ``tenant`` with the tenant's number in ``pkt_mark``, so that what follows
can tell where they belong; those of an action without ``tenant``, and those
that are passed or answered, keep their mark.  Whatever looks at ``pkt_mark``
behind the action (a table, ``move``, ``set_field``, ...) makes the packet
recirculate.  The route and the ``egress_pkt_mark`` of a tunnel that the packet
is output to at once go by the mark from before.  For instance, with tenants in
VLANs at port 1, and the outside at port 2::

    in_port=1,ip,vlan_tci=0x1000/0x1000
      actions=nat64(zone=1,tenant=vlan_vid),strip_vlan,output:2
    in_port=2,ip
      actions=nat64(zone=1,tenant=0),push_vlan:0x8100,
        move:NXM_NX_PKT_MARK[0..11]->OXM_OF_VLAN_VID[0..11],output:1

A packet that the zone does not translate, for instance one that is not IP, is
dropped and counted in the zone's statistics, or goes on unchanged if the zone
says ``other_config:miss=pass``.  The zone need not exist when the flow is
added; as long as it does not, packets are dropped and counted as ``no-zone``
(see ``xlat/stats`` in ``ovs-vswitchd``\ (8)), as are, as ``kind``, those of a
zone of kind ``ila``.

A packet that is too large for the other side and may be fragmented leaves as
fragments, each of which runs through what follows.  An ICMP error that the
zone makes leaves by the port that the packet came from, to the Ethernet
address that it came from, with the tags that it had at the action, also when
this is a tunnel or a patch port; in between it passes no flow table of this
bridge.  So Ethernet addresses that are set in front of ``nat64`` are set
behind it, and a flow that sets ``in_port`` in front of it loses the errors.

The datapath must be a userspace datapath (``datapath_type=netdev``), otherwise
the flow is refused.  Where OVS executes the actions for one packet by itself
(slow path), errors and fragments behind the first are lost.

**Conformance**
  This is an extension of Flexiv: experimenter 0x00024658, subtype 1.
  ``ofproto/trace`` shows the result of a translation, for a flow of a stateful
  zone that of its session, or of the one that its packet would begin, with
  ``pkt_mark``.


The ``ila`` action
------------------
..
  name: ILA

**Syntax**:
  | ``ila(zone=``\ *zone*\ [``,dir=``\ *direction*]\ ``)``

Translates the packet's IPv6 destination between identifier and locator by the
translation zone *zone*, of kind ``ila``.  *direction* is ``to_locator``, which
translates a SIR prefix only, or ``to_identifier``, which translates a known
locator only; without, the address decides.

All that is said about ``nat64`` holds for ``ila`` too, apart from the other
IP version and tenants.

**Conformance**
  This is an extension of Flexiv: experimenter 0x00024658, subtype 2.
