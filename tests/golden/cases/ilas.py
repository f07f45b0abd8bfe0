# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Flexiv authors

"""ILA: identifiers and locators."""

from .case import Case, ila
from .wire import (ESP, FRAGMENT, GRE, ICMP6, TCP, UDP, addr, echo, frag6,
                   icmp6, ip4, ip6, ones_sum, tcp, text, udp, word)

DATA = text(40)
A = '3333:0:0:1:4444:0:9:0'                 # A source, never changed.
ROUTER = '2001:db8::1'
C_BIT = 0x1000                              # In the identifier's first word.


def cases():
    yield golden()
    yield no_action()
    yield udp_zero()
    yield neutral_map()
    yield neutral_map_c_bit()
    yield neutral_map_auto()
    yield fragments()
    yield opaque_payload()
    yield icmp_errors()
    yield other_packets()
    yield other_key()
    yield no_mapping()
    yield miss_pass()


def words(address):
    raw = addr(address)
    return [int.from_bytes(raw[i:i + 2], 'big') for i in range(0, 16, 2)]


def balanced(before, locator, c_bit=0):
    """The address 'before' with its upper half 'locator', its identifier's C
    bit turned if asked, and its last word such that the sum of all eight is
    the same: found by trying."""
    after = words(locator + '::')[:4] + words(before)[4:]
    after[4] ^= c_bit
    total = ones_sum(addr(before))
    for last in range(1, 0x10000):
        after[7] = last
        data = b''.join(word.to_bytes(2, 'big') for word in after)
        if ones_sum(data) == total:
            return ':'.join('%x' % word for word in after)


def golden():
    c = Case('ila-adj-transport', 'The addresses of the original patch set: '
             'to a locator, and to an identifier; the transport checksum '
             'follows.  Nothing else changes.',
             ila(('5555:0:2:0', '2001:0:0:2', 'adj-transport'),
                 ('5555:0:1:0', '2001:0:0:1', 'adj-transport')))
    for before, after in (
            ('3333:0:0:1:5555:0:2:0', '2001:0:0:2:5555:0:2:0'),
            ('2001:0:0:1:5555:0:1:0', '3333:0:0:1:5555:0:1:0')):
        for proto, make in (
                (TCP, lambda dst: tcp(A, dst, 1024, 80, DATA)),
                (UDP, lambda dst: udp(A, dst, 1024, 53, DATA)),
                (ICMP6, lambda dst: icmp6(A, dst, 128, 0, echo(), DATA)),
                (TCP, lambda dst: tcp(A, dst, 1024, 80, b'odd'))):
            c.translated(
                ip6(A, before, proto, make(before), hops=64, tc=3, flow=77),
                ip6(A, after, proto, make(after), hops=64, tc=3, flow=77))
    # A hop limit of 1 is no matter here.
    before, after = '3333:0:0:1:5555:0:2:0', '2001:0:0:2:5555:0:2:0'
    c.translated(ip6(A, before, TCP, tcp(A, before, 1, 2), hops=1),
                 ip6(A, after, TCP, tcp(A, after, 1, 2), hops=1))
    return c


def no_action():
    c = Case('ila-no-action', 'no-action: the checksum stays that of the '
             'identifier address.',
             ila(('5555:0:2:0', '2001:0:0:2', 'no-action')))
    before, after = '3333:0:0:1:5555:0:2:0', '2001:0:0:2:5555:0:2:0'
    data = tcp(A, before, 1024, 80, DATA)
    c.translated(ip6(A, before, TCP, data), ip6(A, after, TCP, data))
    c.translated(ip6(A, after, TCP, data), ip6(A, before, TCP, data))
    return c


def udp_zero():
    c = Case('ila-udp-zero', 'adj-transport: UDP without a checksum still '
             'has none; one that becomes 0 is sent as 0xffff.',
             ila(('5555:0:2:0', '2001:0:0:2', 'adj-transport')))
    before, after = '3333:0:0:1:5555:0:2:0', '2001:0:0:2:5555:0:2:0'
    data = udp(A, before, 1024, 53, DATA, zero=True)
    c.translated(ip6(A, before, UDP, data), ip6(A, after, UDP, data))
    for filler in range(0x10000):
        data = filler.to_bytes(2, 'big')
        if udp(A, after, 1024, 53, data)[6:8] == b'\xff\xff':
            break
    c.translated(ip6(A, before, UDP, udp(A, before, 1024, 53, data)),
                 ip6(A, after, UDP, udp(A, after, 1024, 53, data)))
    return c


def neutral_map():
    c = Case('ila-neutral-map', 'neutral-map: the low 16 bits of the '
             'identifier absorb the difference and C is set; on the way back '
             'they are restored and C is cleared.  No checksum changes.',
             ila(('4555:0:2:7', '2001:0:0:2', 'neutral-map')))
    before = '3333:0:0:1:4555:0:2:7'
    after = balanced(before, '2001:0:0:2', c_bit=C_BIT)
    assert words(after)[4] == 0x5555
    for proto, data in ((TCP, tcp(A, before, 1024, 80, DATA)),
                        (UDP, udp(A, before, 1024, 53, DATA)),
                        (UDP, udp(A, before, 1024, 53, DATA, zero=True)),
                        (ICMP6, icmp6(A, before, 128, 0, echo(), DATA))):
        c.translated(ip6(A, before, proto, data), ip6(A, after, proto, data))
        c.translated(ip6(A, after, proto, data), ip6(A, before, proto, data))
    return c


def neutral_map_c_bit():
    c = Case('ila-neutral-map-c-bit', 'neutral-map: an identifier with C set '
             'already is dropped; one with C clear on the way back was not '
             'changed, and is not.',
             ila(('5555:0:2:0', '2001:0:0:2', 'neutral-map'),
                 ('4555:0:2:7', '2001:0:0:3', 'neutral-map')))
    dst = '3333:0:0:1:5555:0:2:0'
    c.dropped('ila-c-bit', ip6(A, dst, TCP, tcp(A, dst, 1024, 80, DATA)))
    before, after = '2001:0:0:3:4555:0:2:7', '3333:0:0:1:4555:0:2:7'
    data = tcp(A, before, 1024, 80, DATA)
    c.translated(ip6(A, before, TCP, data), ip6(A, after, TCP, data))
    return c


def neutral_map_auto():
    c = Case('ila-neutral-map-auto', 'neutral-map-auto: as neutral-map, '
             'always and without a C bit.',
             ila(('5555:0:2:7', '2001:0:0:2', 'neutral-map-auto')))
    before = '3333:0:0:1:5555:0:2:7'
    after = balanced(before, '2001:0:0:2')
    data = tcp(A, before, 1024, 80, DATA)
    c.translated(ip6(A, before, TCP, data), ip6(A, after, TCP, data))
    c.translated(ip6(A, after, TCP, data), ip6(A, before, TCP, data))
    return c


def fragments():
    c = Case('ila-fragments', 'Fragments: all go to the same address; only '
             'the first has a checksum to follow.',
             ila(('5555:0:2:0', '2001:0:0:2', 'adj-transport')))
    before, after = '3333:0:0:1:5555:0:2:0', '2001:0:0:2:5555:0:2:0'
    whole = udp(A, before, 1024, 53, text(2000))
    wanted = udp(A, after, 1024, 53, text(2000))
    for start, end, more in (0, 1200, 1), (1200, 2008, 0):
        c.translated(
            ip6(A, before, FRAGMENT, frag6(
                UDP, whole[start:end], offset=start, more=more, id=9)),
            ip6(A, after, FRAGMENT, frag6(
                UDP, wanted[start:end], offset=start, more=more, id=9)))
    return c


def opaque_payload():
    c = Case('ila-protocols', 'Protocols without a known checksum keep their '
             'payload.', ila(('5555:0:2:0', '2001:0:0:2', 'adj-transport')))
    before, after = '3333:0:0:1:5555:0:2:0', '2001:0:0:2:5555:0:2:0'
    for proto in GRE, ESP, 253:
        c.translated(ip6(A, before, proto, DATA), ip6(A, after, proto, DATA))
    return c


def icmp_errors():
    c = Case('ila-icmp-error', 'The packet inside an ICMP error: a router '
             'quotes the locator; the sender knows the identifier only.',
             ila(('4444:0:9:0', '2001:0:0:9', 'adj-transport'),
                 ('5555:0:2:0', '2001:0:0:2', 'adj-transport')))
    node, sent = '3333:0:0:1:5555:0:2:0', '2001:0:0:2:5555:0:2:0'
    sender, at = A, '2001:0:0:9:4444:0:9:0'
    for n in 0, 8, 60:
        seen = ip6(A, sent, TCP, tcp(A, sent, 1024, 80, DATA),
                   hops=60)[:40 + n]
        own = ip6(A, node, TCP, tcp(A, node, 1024, 80, DATA),
                  hops=60)[:40 + n]
        for before, after in (sender, at), (at, sender):
            c.translated(
                ip6(ROUTER, before, ICMP6, icmp6(
                    ROUTER, before, 3, 0, word(0), seen)),
                ip6(ROUTER, after, ICMP6, icmp6(
                    ROUTER, after, 3, 0, word(0), own)))
    return c


def other_packets():
    c = Case('ila-not-ipv6', 'IPv4 has no identifiers.',
             ila(('5555:0:2:0', '2001:0:0:2', 'adj-transport')))
    c.dropped('no-mapping', ip4('192.0.2.1', '198.51.100.7', UDP, udp(
        '192.0.2.1', '198.51.100.7', 1, 2)))
    return c


def other_key():
    conf = ila(('5555:0:2:0', '2001:0:0:2', 'no-action'))
    conf['ila_mappings'] = conf.pop('mappings')
    c = Case('ila-mappings-key', 'The list of mappings may be called '
             '"ila_mappings".', conf)
    before, after = '3333:0:0:1:5555:0:2:0', '2001:0:0:2:5555:0:2:0'
    packet = tcp(A, before, 1024, 80)
    c.translated(ip6(A, before, TCP, packet), ip6(A, after, TCP, packet))
    return c


def no_mapping():
    c = Case('ila-no-mapping', 'A destination without a mapping, and an '
             'identifier at a locator that is not its own, are dropped.',
             ila(('5555:0:2:0', '2001:0:0:2', 'adj-transport')))
    for dst in ('3333:0:0:1:5555:0:3:0', '2001:0:0:3:5555:0:2:0',
                '2001:db8::1'):
        c.dropped('no-mapping', ip6(A, dst, TCP, tcp(A, dst, 1024, 80)))
    return c


def miss_pass():
    c = Case('ila-miss-pass', 'With miss=pass, what has no mapping goes on '
             'unchanged.',
             ila(('5555:0:2:0', '2001:0:0:2', 'adj-transport'), miss='pass'))
    dst = '2001:db8::1'
    c.passed(ip6(A, dst, TCP, tcp(A, dst, 1024, 80)))
    before, after = '3333:0:0:1:5555:0:2:0', '2001:0:0:2:5555:0:2:0'
    c.translated(ip6(A, before, TCP, tcp(A, before, 1, 2)),
                 ip6(A, after, TCP, tcp(A, after, 1, 2)))
    return c
