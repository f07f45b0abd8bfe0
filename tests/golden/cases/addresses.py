# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Flexiv authors

"""Addresses: RFC 6052, RFC 7757, RFC 8215, and what is never translated."""

from .case import C4, C6, S4, S6, Case, siit
from .siit46 import error4
from .siit64 import error6
from .wire import UDP, ip4, ip6, text, udp, word

DATA = text(20)


def cases():
    yield from prefix_lengths()
    yield t10()
    yield t14()
    yield well_known_prefix()
    yield well_known_prefix_open()
    yield local_use_prefix()
    yield two_prefixes()
    yield rfc7757_table()
    yield eamt_longest()
    yield eamt_suffix_ignored()
    yield eamt_before_pool6()
    yield eamt_only()
    yield hairpin_none()
    yield hairpin_simple()
    yield hairpin_intrinsic()
    yield deny()
    yield miss_pass()


def there_and_back(c, a6, b6, a4, b4):
    """A datagram from 'a6' to 'b6', which IPv4 knows as 'a4' and 'b4', and
    one in the other direction."""
    c.translated(
        ip6(a6, b6, UDP, udp(a6, b6, 1024, 53, DATA), hops=64),
        ip4(a4, b4, UDP, udp(a4, b4, 1024, 53, DATA), ttl=63, any=['id']))
    c.translated(
        ip4(b4, a4, UDP, udp(b4, a4, 53, 1024, DATA), ttl=64),
        ip6(b6, a6, UDP, udp(b6, a6, 53, 1024, DATA), hops=63))


def prefix_lengths():
    """The examples of RFC 6052, 2.4: 192.0.2.33 under each length."""
    for length, prefix, address in (
            (32, '2001:db8::', '2001:db8:c000:221::'),
            (40, '2001:db8:100::', '2001:db8:1c0:2:21::'),
            (48, '2001:db8:122::', '2001:db8:122:c000:2:2100::'),
            (56, '2001:db8:122:300::', '2001:db8:122:3c0:0:221::'),
            (64, '2001:db8:122:344::', '2001:db8:122:344:c0:2:2100::'),
            (96, '2001:db8:122:344::', '2001:db8:122:344::c000:221')):
        c = Case('6052-length-%d' % length, 'RFC 6052, 2.2 and 2.4: a prefix '
                 'of %d bits; bits 64 to 71 and the suffix are zero.'
                 % length,
                 siit(eamt={'2001:db9:1::7/128': '198.51.100.7/32'},
                      pool6=['%s/%d' % (prefix, length)]))
        there_and_back(c, '2001:db9:1::7', address, '198.51.100.7',
                       '192.0.2.33')
        yield c


def t10():
    c = Case('t10-suffix', 'T10; RFC 6052, 2.2: the suffix is ignored when '
             'read.', siit(pool6=['2001:db8:100::/40'],
                           eamt={'2001:db9:1::/120': '192.0.2.0/24'}))
    client, server = '2001:db9:1::21', '2001:db8:1c6:3364:7:dead:0:1'
    c.translated(
        ip6(client, server, UDP, udp(client, server, 1024, 53, DATA)),
        ip4(C4, S4, UDP, udp(C4, S4, 1024, 53, DATA), ttl=63, any=['id']))
    return c


def t14():
    c = Case('t14-embedded', 'T14; RFC 6052, 3.1, RFC 1812, 5.3.7: some IPv4 '
             'addresses are never translated.', siit())
    given = bytes.fromhex(
        '600000000009114020010db800010000000000000000002120010db8006400000000'
        '00007f0000010fa0003500099d0d78')
    loopback = '2001:db8:64::7f00:1'
    packet = ip6(C6, loopback, UDP, udp(C6, loopback, 4000, 53, b'x'))
    assert packet == given
    c.dropped('bad-embedded', packet)
    for dst in ('2001:db8:64::', '2001:db8:64::1', '2001:db8:64::7fff:ffff',
                '2001:db8:64::ffff:ffff', '2001:db8:64::e000:1',
                '2001:db8:64::efff:ffff'):
        c.dropped('bad-embedded', ip6(C6, dst, UDP, udp(
            C6, dst, 4000, 53, b'x')))
    return c


def well_known_prefix():
    c = Case('6052-well-known-prefix', 'RFC 6052, 3.1: the well-known prefix '
             'does not represent non-global IPv4 addresses.',
             siit(pool6=['64:ff9b::/96']))
    there_and_back(c, C6, '64:ff9b::808:808', C4, '8.8.8.8')
    for address in ('64:ff9b::a00:1', '64:ff9b::ac10:1', '64:ff9b::c0a8:1',
                    '64:ff9b::a9fe:1', '64:ff9b::6440:1',
                    '64:ff9b::c633:6407', '64:ff9b::c612:1'):
        c.dropped('bad-embedded', ip6(C6, address, UDP, udp(
            C6, address, 1024, 53, DATA)))
    return c


def well_known_prefix_open():
    c = Case('6052-well-known-prefix-open', 'RFC 6052, 3.1: the option to '
             'translate them all the same.',
             siit(pool6=['64:ff9b::/96'], wkp_non_global='translate'))
    there_and_back(c, C6, '64:ff9b::c633:6407', C4, S4)
    there_and_back(c, C6, '64:ff9b::a00:1', C4, '10.0.0.1')
    return c


def local_use_prefix():
    c = Case('8215-local-use-prefix', 'RFC 8215, 5: 64:ff9b:1::/48 may '
             'represent any IPv4 address.',
             siit(pool6=['64:ff9b:1::/96']))
    there_and_back(c, C6, '64:ff9b:1::a00:1', C4, '10.0.0.1')
    there_and_back(c, C6, '64:ff9b:1::c633:6407', C4, S4)
    return c


def two_prefixes():
    c = Case('6052-two-prefixes', 'RFC 6052, 3.3: several prefixes are read; '
             'the first one is written.',
             siit(pool6=['2001:db8:64::/96', '2001:db8:65::/96']))
    there_and_back(c, C6, S6, C4, S4)
    other = '2001:db8:65::c633:6407'
    c.translated(
        ip6(C6, other, UDP, udp(C6, other, 1024, 53, DATA), hops=64),
        ip4(C4, S4, UDP, udp(C4, S4, 1024, 53, DATA), ttl=63, any=['id']))
    return c


TABLE_7757 = {'2001:db8:aaaa::/128': '192.0.2.1/32',
              '2001:db8:bbbb::b/128': '192.0.2.2/32',
              '2001:db8:cccc::/124': '192.0.2.16/28',
              '2001:db8:dddd::/64': '192.0.2.128/26',
              '2001:db8:eeee:8::/62': '192.0.2.192/29',
              '2001:db8:64:1::/127': '192.0.2.224/31'}


def rfc7757_table():
    c = Case('7757-table', 'RFC 7757, 3.1 to 3.3: prefixes of many lengths: '
             'what follows the IPv4 prefix follows the IPv6 prefix, the rest '
             'is zero.', siit(eamt=TABLE_7757))
    for address4, address6 in (
            ('192.0.2.1', '2001:db8:aaaa::'),
            ('192.0.2.2', '2001:db8:bbbb::b'),
            ('192.0.2.16', '2001:db8:cccc::'),
            ('192.0.2.24', '2001:db8:cccc::8'),
            ('192.0.2.31', '2001:db8:cccc::f'),
            ('192.0.2.128', '2001:db8:dddd::'),
            ('192.0.2.152', '2001:db8:dddd:0:6000::'),
            ('192.0.2.183', '2001:db8:dddd:0:dc00::'),
            ('192.0.2.192', '2001:db8:eeee:8::'),
            ('192.0.2.195', '2001:db8:eeee:9:8000::'),
            ('192.0.2.199', '2001:db8:eeee:b:8000::'),
            ('192.0.2.224', '2001:db8:64:1::'),
            ('192.0.2.225', '2001:db8:64:1::1')):
        there_and_back(c, address6, S6, address4, S4)
    # Matched by none: RFC 6052.
    there_and_back(c, '2001:db8:bbbb::b', '2001:db8:64::c000:203',
                   '192.0.2.2', '192.0.2.3')
    return c


def eamt_longest():
    c = Case('7757-longest-match', 'RFC 7757, 3.3.1 and 3.3.2: the longest '
             'prefix that matches, both ways.',
             siit(eamt={'2001:db8:1::/120': '192.0.2.0/24',
                        '2001:db8:1::40/122': '192.0.2.128/26',
                        '2001:db8:2::5/128': '192.0.2.5/32'}))
    there_and_back(c, '2001:db8:1::6', S6, '192.0.2.6', S4)
    # IPv6's longer prefix has IPv4 addresses of its own...
    there_and_back(c, '2001:db8:1::41', S6, '192.0.2.129', S4)
    # ...and so has IPv4's, on an IPv6 side elsewhere.
    there_and_back(c, '2001:db8:2::5', S6, '192.0.2.5', S4)
    return c


def eamt_suffix_ignored():
    c = Case('7757-suffix-ignored', 'RFC 7757, 3.3.2: bits behind the '
             'shorter IPv4 suffix are ignored.',
             siit(eamt={'2001:db8:dddd::/64': '192.0.2.128/26'}))
    client = '2001:db8:dddd:0:63ff:ffff:0:1'
    c.translated(
        ip6(client, S6, UDP, udp(client, S6, 1024, 53, DATA), hops=64),
        ip4('192.0.2.152', S4, UDP, udp('192.0.2.152', S4, 1024, 53, DATA),
            ttl=63, any=['id']))
    return c


def eamt_before_pool6():
    c = Case('7757-before-6052', 'RFC 7757, 3.2: an explicit mapping goes '
             'before the algorithm of RFC 6052, both ways.',
             siit(eamt={'2001:db8:1::/120': '192.0.2.0/24',
                        '2001:db8:64::c633:6407/128': '203.0.113.7/32'}))
    there_and_back(c, C6, S6, C4, '203.0.113.7')
    return c


def eamt_only():
    c = Case('7757-without-pool6', 'RFC 7757, 3.3: an address without a '
             'mapping, and no prefix: dropped.',
             siit(eamt={'2001:db8:1::/120': '192.0.2.0/24',
                        '2001:db8:7::/120': '198.51.100.0/24'}, pool6=()))
    there_and_back(c, C6, '2001:db8:7::7', C4, S4)
    return c


def hairpin_none():
    c = Case('7757-hairpin-none', 'RFC 7757, 4: without hairpinning, a '
             'packet between two mapped hosts goes out as IPv4.',
             siit(hairpin='none'))
    target = SEEN[OTHER6]
    c.translated(
        ip6(C6, target, UDP, udp(C6, target, 1024, 53, DATA), hops=64),
        ip4(C4, OTHER4, UDP, udp(C4, OTHER4, 1024, 53, DATA), ttl=63,
            any=['id']))
    c.translated(
        ip4(C4, OTHER4, UDP, udp(C4, OTHER4, 1024, 53, DATA), ttl=62),
        ip6(C6, OTHER6, UDP, udp(C6, OTHER6, 1024, 53, DATA), hops=61))
    return c


# Two mapped hosts, and how each is seen under pool6.
OTHER4, OTHER6 = '192.0.2.34', '2001:db8:1::22'
SEEN = {C6: '2001:db8:64::c000:221', OTHER6: '2001:db8:64::c000:222'}


def hairpin_intrinsic():
    c = Case('7757-hairpin-intrinsic', 'RFC 7757, 4.2.2: two mapped hosts '
             'talk by way of their IPv4 addresses; each sees the other under '
             'pool6.', siit(hairpin='intrinsic'))
    for a, b in (C6, OTHER6), (OTHER6, C6):
        c.translated(
            ip6(a, SEEN[b], UDP, udp(a, SEEN[b], 1024, 53, DATA), hops=64),
            ip6(SEEN[a], b, UDP, udp(SEEN[a], b, 1024, 53, DATA), hops=63))
    # Other packets as ever.
    there_and_back(c, C6, S6, C4, S4)
    return c


def hairpin_simple():
    c = Case('7757-hairpin-simple', 'RFC 7757, 4.2.1: a packet between two '
             'mapped hosts goes out as IPv4, comes back from the IPv4 '
             'network, and then shows its sender under pool6.',
             siit(hairpin='simple'))
    c.translated(
        ip6(C6, SEEN[OTHER6], UDP, udp(C6, SEEN[OTHER6], 1024, 53, DATA),
            hops=64),
        ip4(C4, OTHER4, UDP, udp(C4, OTHER4, 1024, 53, DATA), ttl=63,
            any=['id']))
    c.translated(
        ip4(C4, OTHER4, UDP, udp(C4, OTHER4, 1024, 53, DATA), ttl=62),
        ip6(SEEN[C6], OTHER6, UDP, udp(SEEN[C6], OTHER6, 1024, 53, DATA),
            hops=61))
    there_and_back(c, C6, S6, C4, S4)
    return c


def deny():
    c = Case('siit-deny', 'RFC 7915, 4.4, 5.4 and 7: addresses that are '
             'denied by configuration: administratively prohibited.',
             siit(deny='2001:db8:1::80/121,198.51.100.128/25'))
    there_and_back(c, C6, S6, C4, S4)
    for far6, far4, near6, near4 in (
            (S6, S4, '2001:db8:1::80', '192.0.2.128'),
            ('2001:db8:64::c633:64ff', '198.51.100.255', C6, C4)):
        packet = ip6(near6, far6, UDP, udp(near6, far6, 1024, 53, DATA))
        c.reply('denied', packet, error6(1, 1, word(0), packet))
        packet = ip4(far4, near4, UDP, udp(far4, near4, 53, 1024, DATA))
        c.reply('denied', packet, error4(3, 13, word(0), packet))
    return c


def miss_pass():
    c = Case('siit-miss-pass', 'With miss=pass, what the zone does not '
             'translate goes on unchanged.',
             siit(miss='pass', pool6=()))
    c.passed(ip4(S4, C4, UDP, udp(S4, C4, 53, 1024, DATA)))
    c.passed(ip6(C6, S6, UDP, udp(C6, S6, 1024, 53, DATA)))
    return c
