# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Flexiv authors

"""Captures: link layers, time stamps, and frames that are not IP."""

import struct

from .case import (C4, C6, LINK_IP4, LINK_IP6, LINK_RAW, LINK_SLL,
                   MAC_NEAR, S4, S6, Case, ethernet, raw, siit)
from .siit46 import error4
from .wire import FRAGMENT, Packet, TCP, frag6, ip4, ip6, tcp, text, word

IN4 = ip4(S4, C4, TCP, tcp(S4, C4, 443, 40000, text(40)), ttl=64, df=1)
OUT6 = ip6(S6, C6, TCP, tcp(S6, C6, 443, 40000, text(40)), hops=63)
IN6 = ip6(C6, S6, TCP, tcp(C6, S6, 40000, 443, text(40)), hops=64)
OUT4 = ip4(C4, S4, TCP, tcp(C4, S4, 40000, 443, text(40)), ttl=63,
           any=['id'])
EXPIRED = ip4(S4, C4, TCP, tcp(S4, C4, 443, 40000, text(40)), ttl=1, df=1)
ERROR = error4(11, 0, word(0), EXPIRED)


def cases():
    yield tagged('link-vlan', 'One VLAN tag stays, also in a reply.',
                 bytes.fromhex('81002064'))
    yield tagged('link-qinq', 'Two VLAN tags (IEEE 802.1ad) stay.',
                 bytes.fromhex('88a8000a81000014'))
    yield plain('link-raw', 'Raw IP.', link=LINK_RAW, frame=raw)
    yield family('link-ipv4', 'Raw IPv4 gives raw IP, as the result may be '
                 'IPv6.', LINK_IP4, IN4, OUT6)
    yield family('link-ipv6', 'Raw IPv6 gives raw IP, as the result may be '
                 'IPv4.', LINK_IP6, IN6, OUT4)
    yield plain('link-cooked', 'Linux cooked captures ("any").',
                link=LINK_SLL, frame=cooked)
    yield plain('stamp-nanoseconds', 'Time stamps of nanoseconds stay so.',
                nano=True)
    yield plain('stamp-big-endian', 'A capture from a machine of the other '
                'byte order.', endian='>')
    yield one_stamp()
    yield not_ip()
    yield not_ip_pass()
    yield padding()
    yield cut()


def plain(name, words, **fields):
    c = Case(name, words, siit(), **fields)
    c.at(1700000000, 123456)
    c.translated(IN4, OUT6)
    c.translated(IN6, OUT4)
    c.reply('ttl', EXPIRED, ERROR)
    return c


def tagged(name, words, tags):
    def frame(packet, turned=False):
        return ethernet(packet, turned, tags)
    return plain(name, words, frame=frame)


def family(name, words, link, packet, result):
    c = Case(name, words, siit(), link=link, link_out=LINK_RAW, frame=raw)
    c.translated(packet, result)
    return c


def cooked(packet, turned=False):
    type = 0x0800 if packet[0] >> 4 == 4 else 0x86dd
    return packet.behind(struct.pack('!HHH', 4 if turned else 0, 1, 6)
                         + MAC_NEAR + bytes(2) + struct.pack('!H', type))


def one_stamp():
    c = Case('stamp-one-for-all', 'Many packets at one time, of all kinds: '
             'their order is kept, whatever is taken together.', siit())
    c.step = 0
    whole = tcp(S6, C6, 443, 40000, text(1440))
    for i in range(25):
        c.translated(IN4, OUT6)
        c.reply('ttl', EXPIRED, ERROR)
        c.translated(IN6, OUT4)
        c.frame = any_type(0x0806)
        c.dropped('not-ip', ARP)
        c.frame = ethernet
        c.translated(
            ip4(S4, C4, TCP, tcp(S4, C4, 443, 40000, text(1440)), id=i),
            ip6(S6, C6, FRAGMENT, frag6(TCP, whole[:1232], more=1, id=i),
                hops=63),
            ip6(S6, C6, FRAGMENT, frag6(TCP, whole[1232:], offset=1232,
                                        id=i), hops=63),
            fragmented=True)
    return c


ARP = Packet(bytes.fromhex('0001080006040001020000000001c0000221000000000000'
                           'c6336407'))


def any_type(type):
    def frame(packet, turned=False):
        return ethernet(packet, turned, type=type)
    return frame


def not_ip():
    c = Case('link-not-ip', 'X3: frames that are not IP, or whose Ethertype '
             'is not that of the packet, are dropped, however much they '
             'look like IP.', siit())
    for packet, type in ((ARP, 0x0806), (IN4, 0x88cc), (IN4, 0x86dd),
                         (IN6, 0x0800), (IN4, 0x0040), (ARP, 0x0800)):
        c.frame = any_type(type)
        c.dropped('not-ip', packet)
    c.frame = ethernet
    c.translated(IN4, OUT6)
    return c


def not_ip_pass():
    c = Case('link-not-ip-pass', 'With miss=pass, frames that are not IP '
             'go on.', siit(miss='pass'), frame=any_type(0x0806))
    c.passed(ARP)
    return c


def padding():
    c = Case('x3-padding', 'X3: Ethernet padding behind a short packet is '
             'no part of it.', siit())
    short4 = ip4(S4, C4, TCP, tcp(S4, C4, 443, 40000), ttl=64, df=1)
    short6 = ip6(S6, C6, TCP, tcp(S6, C6, 443, 40000), hops=63)
    c.translated(Packet(short4 + bytes(6)), short6)
    c.translated(Packet(short4 + b'\xff' * 6), short6)
    c.translated(
        Packet(ip6(C6, S6, TCP, tcp(C6, S6, 40000, 443), hops=64) + b'abc'),
        ip4(C4, S4, TCP, tcp(C4, S4, 40000, 443), ttl=63, any=['id']))
    return c


def cut():
    c = Case('link-cut', 'Packets that the capture has only the beginning '
             'of are dropped; what is cut off may be padding, though.',
             siit())
    for n in 60, 34, 20:
        c.dropped('truncated', IN4, cut=n)
    c.dropped('not-ip', IN4, cut=13)
    short4 = ip4(S4, C4, TCP, tcp(S4, C4, 443, 40000), ttl=64, df=1)
    c._packet('translated', Packet(short4 + bytes(6)),
              [ip6(S6, C6, TCP, tcp(S6, C6, 443, 40000), hops=63)], cut=-6)
    c.counters['translated'] += 1
    c.counters['translated-46'] += 1
    return c
