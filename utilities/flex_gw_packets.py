# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Flexiv authors

"""Frames that a gateway sends by itself: here I am, who is there?

Each is a whole Ethernet frame, as bytes.  MAC addresses are text, others are
ipaddress's.  A 'side' is flex_gw_flows.Side.
"""

import ipaddress

ALL_NODES = ipaddress.IPv6Address("ff02::1")
ALL_NODES_MAC = bytes.fromhex("333300000001")
MOST_ASKED = 1024               # Addresses of an IPv4 link that are asked for
                                # one by one.


def announcements(side):
    """Hosts may know the gateway's addresses by a MAC address of before."""
    for own in side.own:
        if side.family == 6:
            yield neighbour_advertisement(side.mac, own.ip)
        else:
            yield arp_request(side.mac, own.ip, own.ip)


def questions(side):
    """The packets that ask this side's hosts who is there."""
    hop = side.next_hop
    asked = hop.address if hop and not hop.mac else None
    for own in side.addresses:
        if side.family == 6:
            if own == side.addresses[0]:
                yield echo_to_all_nodes(side.mac, own.ip)
            if asked:
                yield neighbour_solicitation(side.mac, own.ip, asked)
        else:
            for host in on_link(own):
                yield arp_request(side.mac, own.ip, host)
            if asked and asked not in own.network:
                yield arp_request(side.mac, own.ip, asked)


def on_link(own):
    """Other addresses of the link, if they are few enough to ask each."""
    if own.network.num_addresses > MOST_ASKED:
        return []
    return [host for host in own.network.hosts() if host != own.ip]


def arp_request(mac, own, target):
    return (b"\xff" * 6 + mac_bytes(mac) + b"\x08\x06"
            + b"\x00\x01\x08\x00\x06\x04\x00\x01" + mac_bytes(mac)
            + own.packed + bytes(6) + target.packed)


def neighbour_solicitation(mac, own, target):
    low = target.packed[13:]
    group = ipaddress.IPv6Address(
        bytes.fromhex("ff0200000000000000000001ff") + low)
    body = (b"\x87" + bytes(7) + target.packed + b"\x01\x01" + mac_bytes(mac))
    return icmpv6(mac, b"\x33\x33\xff" + low, own, group, body)


def neighbour_advertisement(mac, own):
    """Unsolicited: router, override (RFC 4861, 7.2.6)."""
    body = (b"\x88\0\0\0\xa0\0\0\0" + own.packed + b"\x02\x01"
            + mac_bytes(mac))
    return icmpv6(mac, ALL_NODES_MAC, own, ALL_NODES, body)


def echo_to_all_nodes(mac, own):
    """Whoever answers shows its MAC address by that: the only way to find a
    silent host."""
    return icmpv6(mac, ALL_NODES_MAC, own, ALL_NODES, b"\x80" + bytes(7))


def icmpv6(mac, group_mac, source, destination, body):
    """'body' is an ICMPv6 message of even length, its checksum zero."""
    pseudo = (source.packed + destination.packed
              + len(body).to_bytes(4, "big") + b"\x00\x00\x00\x3a")
    body = body[:2] + checksum(pseudo + body) + body[4:]
    return (group_mac + mac_bytes(mac) + b"\x86\xdd"
            + b"\x60\x00\x00\x00" + len(body).to_bytes(2, "big")
            + b"\x3a\xff" + source.packed + destination.packed + body)


def checksum(data):
    total = sum(int.from_bytes(data[i:i + 2], "big")
                for i in range(0, len(data), 2))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return (~total & 0xffff).to_bytes(2, "big")


def mac_bytes(mac):
    return bytes.fromhex(mac.replace(":", ""))
