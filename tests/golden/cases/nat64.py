# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Flexiv authors

"""Stateful translation: RFC 6146.

Pools have as few ports as a case needs, so that the choice, which is random,
is known."""

from .case import R4, R6, S4, S6, Case
from .siit46 import error4
from .siit64 import error6
from .wire import (FRAGMENT, GRE, ICMP, ICMP6, TCP, UDP, echo, frag6, icmp4,
                   icmp6, ip4, ip6, tcp, text, udp, word)

DATA = text(24)
P = '192.0.2.254'                    # The pool's address, ...
P6 = '2001:db8:64::c000:2fe'         # ... as the inside knows it.
H6, J6 = '2001:db8:1::5', '2001:db8:1::6'
T4, T6 = '198.51.100.8', '2001:db8:64::c633:6408'

FIN, SYN, RST, ACK = 1, 2, 4, 16


def zone(ports, **other_config):
    return {'zones': [{'zone': 1, 'kind': 'nat64',
                       'pool6': ['2001:db8:64::/96'],
                       'pool4': [P + ':' + ports if ports else P],
                       'other_config': {key.replace('_', '-'): str(value)
                                        for key, value
                                        in other_config.items()}}],
            'zone': 1}


def udp_out(port, outside, dport=53, host=H6, far=(S6, S4)):
    """A datagram from inside, as it comes and as it goes on."""
    far6, far4 = far
    return (ip6(host, far6, UDP, udp(host, far6, port, dport, DATA)),
            ip4(P, far4, UDP, udp(P, far4, outside, dport, DATA), ttl=63,
                any=['id']))


def udp_in(outside, port, sport=53, host=H6, far=(S6, S4)):
    far6, far4 = far
    return (ip4(far4, P, UDP, udp(far4, P, sport, outside, DATA), ttl=64),
            ip6(far6, host, UDP, udp(far6, host, sport, port, DATA), hops=63))


def tcp_out(flags, port=4000, outside=5000):
    return (ip6(H6, S6, TCP, tcp(H6, S6, port, 80, flags=flags)),
            ip4(P, S4, TCP, tcp(P, S4, outside, 80, flags=flags), ttl=63,
                any=['id']))


def tcp_in(flags, port=4000, outside=5000):
    return (ip4(S4, P, TCP, tcp(S4, P, 80, outside, flags=flags), ttl=64),
            ip6(S6, H6, TCP, tcp(S6, H6, 80, port, flags=flags), hops=63))


def open_tcp(c):
    c.translated(*tcp_out(SYN))
    c.translated(*tcp_in(SYN | ACK))
    c.translated(*tcp_out(ACK))


def no_binding(c, packet):
    c.reply('no-binding', packet, error4(3, 1, word(0), packet))


def no_port(c, packet, reason='no-port'):
    c.reply(reason, packet, error6(1, 3, word(0), packet))


def cases():
    yield udp_session()
    yield ping()
    yield mapping()
    yield per_flow()
    yield static_binding()
    yield filtering()
    yield hairpin()
    yield errors_in()
    yield errors_out()
    yield fragments()
    yield fragments_held()
    yield fragments_hairpin()
    yield t06()
    yield t06_reversed()
    yield refused()
    yield simultaneous_open()
    yield incoming_syn()
    yield fins()
    yield reopened()
    yield stored_syn()
    yield s01()
    yield s01_answered()
    yield s01_no_probe()
    yield s02()
    yield s02_gone()
    yield s03()
    yield s04()
    yield s04_refused()
    yield s05()
    yield s06()
    yield s07()
    yield s09()


def udp_session():
    c = Case('6146-udp', 'RFC 6146, 3.5.1: a binding and a session of UDP; '
             'answers come back; 300 seconds without packets end it, and '
             'packets of either direction count.', zone('5001-5001'))
    c.translated(*udp_out(4001, 5001))
    c.translated(*udp_in(5001, 4001))
    c.at(300)
    c.translated(*udp_in(5001, 4001))
    c.at(599)
    c.translated(*udp_out(4001, 5001))
    c.at(900)
    no_binding(c, udp_in(5001, 4001)[0])
    c.translated(*udp_out(4003, 5001))
    return c


def ping():
    c = Case('6146-icmp', 'RFC 6146, 3.5.3: a session of ICMP queries; the '
             'identifier is translated; it ends after 60 seconds.',
             zone('700-700'))
    request6 = ip6(H6, S6, ICMP6, icmp6(H6, S6, 128, 0, echo(7), DATA))
    request4 = ip4(P, S4, ICMP, icmp4(8, 0, echo(700), DATA), ttl=63,
                   any=['id'])
    reply4 = ip4(S4, P, ICMP, icmp4(0, 0, echo(700), DATA), ttl=64)
    reply6 = ip6(S6, H6, ICMP6, icmp6(S6, H6, 129, 0, echo(7), DATA), hops=63)
    c.translated(request6, request4)
    c.translated(reply4, reply6)
    c.at(60)
    c.translated(reply4, reply6)
    c.at(122)
    no_binding(c, reply4)
    return c


def mapping():
    c = Case('6146-mapping', 'RFC 6146, 3.5.1.1: what an inside address and '
             'port sends to whomever has one outside address and port; '
             'whoever is outside may answer.', zone('5001-5001'))
    c.translated(*udp_out(4001, 5001))
    c.translated(*udp_out(4001, 5001, far=(T6, T4), dport=99))
    c.translated(*udp_in(5001, 4001, far=(T6, T4), sport=99))
    c.translated(*udp_in(5001, 4001, far=(T6, T4), sport=1))
    no_port(c, udp_out(4003, 0)[0])
    return c


def per_flow():
    c = Case('6146-per-flow', 'RFC 4787, 4.1, mapping=per-flow: each session '
             'has an outside port of its own, and only its remote end may '
             'answer.', zone('5001-5001', mapping='per-flow'))
    c.translated(*udp_out(4001, 5001))
    no_port(c, udp_out(4001, 0, far=(T6, T4))[0])
    c.translated(*udp_in(5001, 4001))
    no_binding(c, udp_in(5001, 4001, far=(T6, T4))[0])
    return c


def filtering():
    c = Case('6146-filtering', 'RFC 6146, 3.5, filtering=address-dependent: '
             'only who has been sent to may send, from any of its ports.',
             zone('5001-5001', filtering='address-dependent'))
    c.translated(*udp_out(4001, 5001))
    c.translated(*udp_in(5001, 4001))
    c.translated(*udp_in(5001, 4001, sport=99))
    packet = udp_in(5001, 4001, far=(T6, T4))[0]
    c.reply('filtered', packet, error4(3, 13, word(0), packet))
    c.translated(*udp_out(4001, 5001, far=(T6, T4)))
    c.translated(*udp_in(5001, 4001, far=(T6, T4)))
    return c


def static_binding():
    conf = zone('5001-5002')
    conf['zones'][0]['bib'] = ['udp,[%s]:4001,%s:5001' % (H6, P)]
    c = Case('6146-static', 'RFC 6146, 3.1: a binding of the configuration '
             'lets the outside begin, and nobody else has its port.', conf)
    c.translated(*udp_in(5001, 4001))
    c.translated(*udp_out(4001, 5001))
    c.translated(*udp_out(4003, 5002, host=J6))
    no_port(c, udp_out(4005, 0, host=J6)[0])
    return c


def hairpin():
    c = Case('6146-hairpin', 'RFC 6146, 3.8: a host inside reaches another '
             'by its outside address and port, from its own outside address '
             'and port, and is answered.', zone('5001-5002'))
    c.translated(*udp_out(4001, 5001))
    c.translated(ip6(J6, P6, UDP, udp(J6, P6, 4002, 5001, DATA)),
                 ip6(P6, H6, UDP, udp(P6, H6, 5002, 4001, DATA), hops=63))
    c.translated(ip6(H6, P6, UDP, udp(H6, P6, 4001, 5002, DATA)),
                 ip6(P6, J6, UDP, udp(P6, J6, 5001, 4002, DATA), hops=63))
    c.dropped('no-binding', ip6(J6, P6, UDP, udp(J6, P6, 4002, 5003, DATA)))
    return c


def errors_in():
    c = Case('6146-icmp-error-in', 'RFC 6146, 3.5.4: an ICMPv4 error about a '
             'packet of a session reaches its host, with that packet as it '
             'was, cut behind 8 bytes or not; it keeps no session alive.',
             zone('5001-5001'))
    c.translated(*udp_out(4001, 5001))
    c.at(299)
    for size in None, 28:
        quote4 = udp_out(4001, 5001)[1][:size]
        quote6 = ip6(H6, S6, UDP, udp(H6, S6, 4001, 53, DATA), hops=63)
        c.translated(
            ip4(R4, P, ICMP, icmp4(3, 3, word(0), quote4), ttl=60),
            ip6(R6, H6, ICMP6,
                icmp6(R6, H6, 1, 4, word(0),
                      quote6[:size and size + 20]), hops=59))
    c.dropped('icmp-inner', ip4(R4, P, ICMP, icmp4(
        3, 3, word(0), udp_out(4001, 5002)[1]), ttl=60))
    c.at(303)
    c.dropped('icmp-inner', ip4(R4, P, ICMP, icmp4(
        3, 3, word(0), udp_out(4001, 5001)[1]), ttl=60))
    return c


def errors_out():
    c = Case('6146-icmp-error-out', 'RFC 6146, 3.5.4: an ICMPv6 error of a '
             'host or router inside about a packet of a session leaves from '
             'the outside address.', zone('5001-5001'))
    c.translated(*udp_out(4001, 5001))
    quote6 = udp_in(5001, 4001)[1]
    quote4 = ip4(S4, P, UDP, udp(S4, P, 53, 5001, DATA), ttl=63, any=['id'])
    for source in H6, '2001:db8:ffff::1':
        outer = ip4(P, S4, ICMP, icmp4(3, 3, word(0), quote4), ttl=63,
                    any=['id'])
        c.translated(
            ip6(source, S6, ICMP6, icmp6(source, S6, 1, 4, word(0), quote6)),
            outer.loose(*quote4.behind(bytes(28)).any))
    return c


def fragments():
    c = Case('6146-fragments', 'RFC 6146, 3.4: fragments behind the first '
             'belong to its session for two seconds, either way; those in '
             'front of it wait for it, if need be in vain.',
             zone('5001-5001'))
    whole6 = udp(H6, S6, 4001, 53, text(100))
    whole4 = udp(P, S4, 5001, 53, text(100))
    first6 = ip6(H6, S6, FRAGMENT, frag6(UDP, whole6[:64], 0, 1, 0x12345678))
    last6 = ip6(H6, S6, FRAGMENT, frag6(UDP, whole6[64:], 64, 0, 0x12345678))
    first4 = ip4(P, S4, UDP, whole4[:64], ttl=63, id=0x5678, mf=1)
    last4 = ip4(P, S4, UDP, whole4[64:], ttl=63, id=0x5678, offset=64)
    c.held(last6)
    c.translated(first6, first4)
    c.released(last6, last4)
    c.translated(last6, last4)
    back4 = udp(S4, P, 53, 5001, text(100))
    back6 = udp(S6, H6, 53, 4001, text(100))
    c.translated(ip4(S4, P, UDP, back4[:40], id=7, mf=1),
                 ip6(S6, H6, FRAGMENT, frag6(UDP, back6[:40], 0, 1, 7),
                     hops=63))
    c.translated(ip4(S4, P, UDP, back4[40:], id=7, offset=40),
                 ip6(S6, H6, FRAGMENT, frag6(UDP, back6[40:], 40, 0, 7),
                     hops=63))
    c.held(ip4(S4, P, UDP, back4[40:], id=8, offset=40))
    c.at(5)
    c.held(last6)
    c.at(8)
    c.translated(first6, first4)
    c.lost(2)
    return c


def fragments_held():
    c = Case('6146-fragments-held', 'RFC 6146, 5.3: no more fragments wait '
             'than fragments-held; the oldest goes.',
             zone('5001-5001', fragments_held=1))
    whole6 = udp(H6, S6, 4001, 53, text(100))
    whole4 = udp(P, S4, 5001, 53, text(100))
    for id in 1, 2:
        c.held(ip6(H6, S6, FRAGMENT, frag6(UDP, whole6[64:], 64, 0, id)))
    c.lost()
    for id in 1, 2:
        c.translated(ip6(H6, S6, FRAGMENT, frag6(UDP, whole6[:64], 0, 1, id)),
                     ip4(P, S4, UDP, whole4[:64], ttl=63, id=id, mf=1))
    c.released(ip6(H6, S6, FRAGMENT, frag6(UDP, whole6[64:], 64, 0, 2)),
               ip4(P, S4, UDP, whole4[64:], ttl=63, id=2, offset=64))
    return c


def pieces(src, dst, whole, sizes, id, **fields):
    """The fragments of the datagram 'whole'; 'sizes' are those of all but the
    last."""
    offset = 0
    for size in sizes + [len(whole)]:
        part = whole[offset:offset + size]
        more = offset + size < len(whole)
        if ':' in src:
            yield ip6(src, dst, FRAGMENT, frag6(UDP, part, offset, more, id),
                      **fields)
        else:
            yield ip4(src, dst, UDP, part, id=id, mf=more, offset=offset,
                      **fields)
        offset += size


def send_pieces(c, parts, order):
    """Sends 'parts' in the order of their numbers."""
    first = order.index(0)
    for number in order[:first]:
        c.held(parts[number][0])
    c.translated(*parts[0])
    for number in order[:first]:
        c.released(*parts[number])
    for number in order[first + 1:]:
        c.translated(*parts[number])


def three_fragments(name, words, order):
    c = Case(name, words, zone('5001-5001'))
    data, sizes = text(3000), [1200, 1200]
    send_pieces(c, list(zip(
        pieces(H6, S6, udp(H6, S6, 4001, 53, data), sizes, 0x12345678),
        pieces(P, S4, udp(P, S4, 5001, 53, data), sizes, 0x5678, ttl=63))),
        order)
    send_pieces(c, list(zip(
        pieces(S4, P, udp(S4, P, 53, 5001, data), sizes, 7),
        pieces(S6, H6, udp(S6, H6, 53, 4001, data), sizes, 7, hops=63))),
        order)
    return c


def t06():
    return three_fragments(
        't06-udp-3000', 'UDP of 3000 bytes in three fragments: all with the '
        'same addresses, and what they make has the right checksum.',
        (0, 1, 2))


def t06_reversed():
    return three_fragments(
        't06-udp-3000-reversed', 'UDP of 3000 bytes in three fragments, the '
        'last one first: they wait for the first one and follow it.',
        (2, 1, 0))


def fragments_hairpin():
    c = Case('6146-fragments-hairpin', 'RFC 6146, 3.8: fragments between '
             'hosts inside, in any order.', zone('5001-5002'))
    c.translated(*udp_out(4001, 5001))
    data = text(100)
    for id, order in enumerate(((0, 1, 2), (2, 1, 0), (1, 0, 2))):
        send_pieces(c, list(zip(
            pieces(J6, P6, udp(J6, P6, 4002, 5001, data), [40, 40], id),
            pieces(P6, H6, udp(P6, H6, 5002, 4001, data), [40, 40], id,
                   hops=63))), order)
    return c


def refused():
    c = Case('6146-refused', 'RFC 6146, 3.4 and 3.5: a source inside pool6, '
             'silently; other protocols; TCP that neither has a session nor '
             'begins one; addresses that are not ours.', zone(''))
    c.dropped('pool6-source', ip6(T6, S6, UDP, udp(T6, S6, 1, 2, DATA)))
    packet = ip6(H6, S6, GRE, DATA)
    c.reply('proto', packet, error6(1, 4, word(0), packet))
    packet = ip4(S4, P, GRE, DATA)
    c.reply('proto', packet, error4(3, 2, word(0), packet))
    c.dropped('no-session', tcp_out(ACK)[0])
    c.dropped('no-session', tcp_out(RST)[0])
    c.dropped('no-mapping', ip6(H6, J6, UDP, udp(H6, J6, 1, 2, DATA)))
    c.dropped('no-mapping', ip4(S4, T4, UDP, udp(S4, T4, 1, 2, DATA)))
    return c


def simultaneous_open():
    c = Case('6146-tcp-simultaneous', 'RFC 6146, 3.5.2.2: SYNs that cross '
             'establish a session.', zone('5000-5000'))
    c.translated(*tcp_out(SYN))
    c.translated(*tcp_in(SYN))
    c.at(7400)
    c.translated(*tcp_out(ACK))
    return c


def incoming_syn():
    c = Case('6146-tcp-incoming', 'RFC 6146, 3.5.2.2: a SYN from outside to '
             'a binding waits 6 seconds for one from inside.',
             zone('5000-5000'))
    syn = (ip4(T4, P, TCP, tcp(T4, P, 99, 5000, flags=SYN), ttl=64),
           ip6(T6, H6, TCP, tcp(T6, H6, 99, 4000, flags=SYN), hops=63))
    answer = (ip6(H6, T6, TCP, tcp(H6, T6, 4000, 99, flags=SYN | ACK)),
              ip4(P, T4, TCP, tcp(P, T4, 5000, 99, flags=SYN | ACK), ttl=63,
                  any=['id']))
    data = (ip4(T4, P, TCP, tcp(T4, P, 99, 5000), ttl=64),
            ip6(T6, H6, TCP, tcp(T6, H6, 99, 4000), hops=63))
    open_tcp(c)
    c.translated(*syn)
    c.at(6)
    c.translated(*answer)
    c.at(7000)
    c.translated(*data)
    return c


def fins():
    c = Case('6146-tcp-fin', 'RFC 6146, 3.5.2.2: a FIN of one side leaves '
             'the session established, FINs of both end it 240 seconds '
             'later, whatever comes.', zone('5000-5000'))
    open_tcp(c)
    c.translated(*tcp_out(FIN | ACK))
    c.at(7000)
    c.translated(*tcp_in(ACK))
    c.translated(*tcp_in(FIN | ACK))
    c.at(7239)
    c.translated(*tcp_out(ACK))
    c.at(7242)
    no_binding(c, tcp_in(ACK)[0])
    return c


def reopened():
    c = Case('6146-tcp-reopened', 'A connection with the ports of one that '
             'has just ended lives by its own right.', zone('5000-5000'))
    open_tcp(c)
    c.translated(*tcp_out(FIN | ACK))
    c.translated(*tcp_in(FIN | ACK))
    c.at(200)
    open_tcp(c)
    c.at(7000)
    c.translated(*tcp_in(ACK))
    return c


def stored_syn():
    c = Case('6146-tcp-stored-syn', 'RFC 6146, 3.5.2.2: a SYN from outside '
             'that waits for one from inside, which comes: nothing is '
             'refused.', zone('5000-5000'))
    c.dropped('stored-syn', tcp_in(SYN)[0])
    c.at(2)
    c.translated(*tcp_out(SYN))
    c.translated(*tcp_in(SYN))
    c.at(9)
    c.translated(*tcp_in(ACK))
    return c


def probe(c):
    c.sent(ip6(S6, H6, TCP, tcp(S6, H6, 80, 4000, seq=0, ack=0, flags=ACK,
                                window=0)), 'probes-sent')


def s01():
    c = Case('s01-established', 'An established connection that falls '
             'silent is probed after 7440 seconds, and ends 240 seconds '
             'later.', zone('5000-5000'))
    open_tcp(c)
    c.at(7440)
    c.translated(*tcp_in(ACK))
    c.at(14882)
    probe(c)
    c.dropped('no-session', tcp_out(ACK, port=4002)[0])
    c.at(15122)
    no_binding(c, tcp_in(ACK)[0])
    return c


def s01_answered():
    c = Case('s01-answered', 'A host that answers the probe keeps its '
             'session; a reset does not.', zone('5000-5000'))
    open_tcp(c)
    c.at(7443)
    probe(c)
    c.translated(*tcp_out(ACK))
    c.at(14800)
    c.translated(*tcp_in(ACK))
    c.at(22242)
    probe(c)
    c.translated(*tcp_out(RST))
    c.at(22483)
    no_binding(c, tcp_in(ACK)[0])
    return c


def s01_no_probe():
    c = Case('s01-no-probe', 'tcp-probe=false: an established connection '
             'that falls silent ends after 7440 seconds.',
             zone('5000-5000', tcp_probe='false'))
    open_tcp(c)
    c.at(7440)
    c.translated(*tcp_in(ACK))
    c.at(14882)
    no_binding(c, tcp_in(ACK)[0])
    return c


def s02():
    c = Case('s02-reset-data', 'A reset session that goes on is established '
             'again.', zone('5000-5000'))
    open_tcp(c)
    c.translated(*tcp_in(RST))
    c.at(240)
    c.translated(*tcp_out(ACK))
    c.at(7679)
    c.translated(*tcp_in(ACK))
    return c


def s02_gone():
    c = Case('s02-reset', 'A reset session ends after 240 seconds; another '
             'reset does not prolong it.', zone('5000-5000'))
    open_tcp(c)
    c.translated(*tcp_in(RST))
    c.at(200)
    c.translated(*tcp_out(RST))
    c.at(242)
    no_binding(c, tcp_in(ACK)[0])
    return c


def s03():
    c = Case('s03-pings', 'Hundreds of pings with identifiers of their own: '
             'when their time is over, all of the pool is free again.',
             zone('1000-1255'))
    for start in 1, 70:
        c.at(start)
        for i in range(256):
            c.translated(
                ip6(H6, S6, ICMP6, icmp6(H6, S6, 128, 0, echo(start * 300 + i),
                                         DATA)),
                ip4(P, S4, ICMP, icmp4(8, 0, echo(0), DATA), ttl=63,
                    any=['id']).loose((22, 4)))
        no_port(c, ip6(H6, S6, ICMP6, icmp6(H6, S6, 128, 0, echo(1), DATA)))
    return c


def s04():
    c = Case('s04-unsolicited-syn', 'A SYN from outside without a binding: '
             'nothing goes inside, neither does its repetition; after six '
             'seconds, it is refused.', zone(''))
    syn = ip4(S4, P, TCP, tcp(S4, P, 31976, 35255, flags=SYN))
    c.dropped('stored-syn', syn)
    c.at(3)
    c.dropped('stored-syn', syn)
    c.at(7)
    c.dropped('stored-syn', syn)
    c.at(8)
    c.sent(error4(3, 3, word(0), syn), 'syns-answered')
    c.dropped('stored-syn', syn)
    return c


def s04_refused():
    c = Case('s04-refused', 'stored-syns=0: such a SYN is refused at once.',
             zone('', stored_syns=0))
    no_binding(c, ip4(S4, P, TCP, tcp(S4, P, 31976, 35255, flags=SYN)))
    return c


def s05():
    c = Case('s05-two-ports', 'A pool of two ports, two bindings: one more '
             'session of the first has the first port.', zone('3001-3002'))
    c.translated(*udp_out(3001, 3001, dport=35000))
    c.translated(*udp_out(3002, 3002, dport=35001))
    c.translated(*udp_out(3001, 3001, dport=35001))
    return c


def s06():
    c = Case('s06-pool-full', 'When the pool is used up, a new flow fails, '
             'and the old ones are answered.', zone('3001-3002'))
    c.translated(*udp_out(3001, 3001))
    c.translated(*udp_out(3002, 3002))
    no_port(c, udp_out(3003, 0)[0])
    c.translated(*udp_in(3001, 3001))
    c.translated(*udp_in(3002, 3002))
    return c


def s07():
    c = Case('s07-table-full', 'A table full of sessions that have ended, '
             'and of one that lives for hours: a new flow finds room.',
             zone('5000-5007', max_sessions=4))
    open_tcp(c)
    for i in 2, 4, 6:
        packet, result = udp_out(4000 + i, 0)
        c.translated(packet, result.loose((20, 2), (26, 2)))
    no_port(c, udp_out(4008, 0)[0], 'table-full')
    c.at(302)
    packet, result = udp_out(4008, 0)
    c.translated(packet, result.loose((20, 2), (26, 2)))
    c.translated(*tcp_in(ACK))
    return c


def s09():
    c = Case('s09-no-parity', 'Without a free port of the wanted range and '
             'parity, any other serves.', zone('5001-5001'))
    c.translated(*udp_out(400, 5001))
    return c
