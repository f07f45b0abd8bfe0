# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Flexiv authors

"""A golden case: a zone, packets in, and what must become of each."""

import collections
import datetime
import json
import os
import struct

LINK_ETHERNET, LINK_RAW, LINK_SLL, LINK_IP4, LINK_IP6 = 1, 101, 113, 228, 229

MAC_NEAR = bytes.fromhex('020000000001')
MAC_FAR = bytes.fromhex('020000000002')

# The addresses of most cases: a client that has an explicit mapping, a server
# behind pool6, an IPv4 router; each as IPv4 and as IPv6 knows it.
C4, C6 = '192.0.2.33', '2001:db8:1::21'
S4, S6 = '198.51.100.7', '2001:db8:64::c633:6407'
R4, R6 = '203.0.113.1', '2001:db8:64::cb00:7101'


def siit(eamt={'2001:db8:1::/120': '192.0.2.0/24'},
         pool6=('2001:db8:64::/96',), pool4=(), **other_config):
    """A siit zone.  Keys of other_config have '_' for '-'."""
    zone = {'zone': 1, 'kind': 'siit', 'pool6': list(pool6),
            'eamt': dict(eamt)}
    if pool4:
        zone['pool4'] = list(pool4)
    zone['other_config'] = {key.replace('_', '-'): str(value)
                            for key, value in other_config.items()}
    return {'zones': [zone], 'zone': 1}


def ila(*mappings, sir='3333:0:0:1::/64', **other_config):
    """An ila zone; 'mappings' are (identifier, locator, csum_mode)."""
    return {'zones': [{'zone': 1, 'kind': 'ila', 'pool6': [sir],
                       'other_config': {key.replace('_', '-'): str(value)
                                        for key, value
                                        in other_config.items()}}],
            'mappings': [{'zone': 1, 'identifier': identifier,
                          'locator': locator, 'csum_mode': mode}
                         for identifier, locator, mode in mappings],
            'zone': 1}


def ethernet(packet, turned=False, tags=b'', type=None):
    """'packet' in an Ethernet frame; 'turned' is the way back."""
    macs = MAC_NEAR + MAC_FAR if turned else MAC_FAR + MAC_NEAR
    if type is None:
        type = 0x0800 if packet[0] >> 4 == 4 else 0x86dd
    return packet.behind(macs + tags + struct.pack('!H', type))


def raw(packet, turned=False):
    return packet


class Case:
    """What 'translated', 'reply', 'dropped' and 'passed' are told, in order,
    are the packets of the case, each with what must come out."""

    def __init__(self, name, words, conf, link=LINK_ETHERNET, nano=False,
                 frame=ethernet, link_out=None, endian='<', options=''):
        self.name = name
        self.words = words
        self.conf = conf
        self.link = link
        self.link_out = link if link_out is None else link_out
        self.nano = nano
        self.frame = frame
        self.frame_out = None    # Of results, if they have another one.
        self.options = options   # Of the command line.
        self.endian = endian
        self.seconds = 1
        self.fraction = 0
        self.step = 1000
        self.ins = []
        self.outs = []
        self.verdicts = []
        self.counters = collections.Counter()
        self.log = []
        self.refused = None

    def at(self, seconds, fraction=0):
        """The time of the packets that follow; 'fraction' in the file's
        unit."""
        self.seconds, self.fraction = seconds, fraction

    def _frame_out(self, result, turned=False):
        frame = (self.frame_out or self.frame)(result, turned)
        return frame, len(frame)

    def _packet(self, verdict, packet, results=(), turned=False, cut=None):
        stamp = (self.seconds, self.fraction)
        frame = self.frame(packet)
        self.ins.append((stamp, frame[:cut], len(frame)))
        for result in results:
            self.outs.append((stamp,) + self._frame_out(result, turned))
        self.verdicts.append((len(self.ins), verdict))
        self.counters['packets'] += 1
        self.fraction += self.step

    def _count_translated(self, packet, results):
        self.counters['translated'] += 1
        self.counters['translated-%d%d' % (packet[0] >> 4,
                                           results[0][0] >> 4)] += 1

    def translated(self, packet, *results, fragmented=False):
        self._packet('translated', packet, results)
        self._count_translated(packet, results)
        if fragmented:
            self.counters['fragmented'] += 1

    def held(self, packet):
        """A fragment that waits for the first one of its packet; what becomes
        of it, 'released' or 'lost' says."""
        self._packet('held', packet)
        self.counters['packets'] -= 1

    def released(self, packet, result):
        """'packet' has waited for the last one."""
        self.outs.append((self.ins[-1][0],) + self._frame_out(result))
        self.verdicts.append((len(self.ins), 'released translated'))
        self.counters['packets'] += 1
        self._count_translated(packet, [result])

    def lost(self, n=1):
        """'n' packets have waited in vain."""
        self.counters['packets'] += n
        self.counters['drop-fragment'] += n

    def reply(self, reason, packet, error):
        self._packet('reply', packet, [error], turned=True)
        self.counters['replies'] += 1
        self.counters['reply-' + reason] += 1

    def dropped(self, reason, packet, cut=None, limited=False):
        self._packet('dropped ' + reason, packet, cut=cut)
        self.counters['drop-' + reason] += 1
        if limited:
            self.counters['replies-limited'] += 1

    def passed(self, packet):
        self._packet('passed', packet, [packet])
        self.counters['passed'] += 1

    def sent(self, packet, counter):
        """What the zone sends of its own accord when the next packet
        comes."""
        frame = self.frame(packet, True)
        self.outs.append(((self.seconds, self.fraction), frame, len(frame)))
        self.counters[counter] += 1

    def logged(self, words):
        """What the session log says at the last packet."""
        seconds, fraction = self.ins[-1][0]
        time = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)
        self.log.append('%s.%03dZ nat64 zone=1 event=%s\n' % (
            time.strftime('%Y-%m-%dT%H:%M:%S'), fraction // 1000, words))

    def refuse(self, words):
        """The configuration is refused, with 'words' in the error."""
        self.refused = words

    def write(self, folder):
        folder = os.path.join(folder, self.name)
        os.makedirs(folder, exist_ok=True)
        files = {'README': (self.words + '\n').encode(),
                 'conf.json': (json.dumps(self.conf, indent=1)
                               + '\n').encode(),
                 'in.pcap': self._capture(self.ins, self.link, True)}
        if self.refused:
            files['error'] = (self.refused + '\n').encode()
        else:
            files['out.pcap'] = self._capture(self.outs, self.link_out, False)
            files['verdicts'] = self._verdicts()
            files['counters'] = self._counters()
            if self._any():
                files['any'] = self._any()
        if self.log:
            files['log'] = ''.join(self.log).encode()
        if self.options:
            files['options'] = (self.options + '\n').encode()
        for name, data in files.items():
            with open(os.path.join(folder, name), 'wb') as file:
                file.write(data)
        return {os.path.join(self.name, name) for name in files}

    def _capture(self, packets, link, is_in):
        endian = self.endian if is_in else '<'
        magic = 0xa1b23c4d if self.nano else 0xa1b2c3d4
        data = struct.pack(endian + 'IHHiIII', magic, 2, 4, 0, 0, 262144,
                           link)
        for (seconds, fraction), frame, length in packets:
            data += struct.pack(endian + 'IIII', seconds, fraction,
                                len(frame), length) + frame
        return data

    def _verdicts(self):
        return ''.join('%d %s\n' % line for line in self.verdicts).encode()

    def _counters(self):
        return ''.join('%s %d\n' % item for item
                       in sorted(self.counters.items())).encode()

    def _any(self):
        return ''.join('%d %d %d\n' % (i, offset, n)
                       for i, (_, frame, _) in enumerate(self.outs, 1)
                       for offset, n in frame.any).encode()
