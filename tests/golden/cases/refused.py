# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Flexiv authors

"""Configurations that are refused whole (C2): the error must have the words
that are given."""

import copy

from .case import Case, ila, siit
from .nat44 import zone as nat44


def refused(name, conf, words, why):
    c = Case('c2-' + name, 'C2: %s: refused, exit status 2.' % why, conf)
    c.refuse(words)
    return c


def changed(conf, **columns):
    """'conf' with columns of its zone set."""
    conf = copy.deepcopy(conf)
    conf['zones'][0].update(columns)
    return conf


def cases():
    good = siit()
    yield refused('prefix-95', siit(pool6=['2001:db8::/95']),
                  'zone 1: 2001:db8::/95 ', 'a prefix of length 95')
    yield refused('pool6-family', siit(pool6=['192.0.2.0/24']),
                  'zone 1: pool6: ', 'a pool of the wrong family')
    yield refused('pool6-host-bits', siit(pool6=['2001:db8::1/96']),
                  'zone 1: pool6: ', 'a prefix with bits behind its length')
    yield refused('pool4-family', siit(pool4=['2001:db8::/96']),
                  'zone 1: pool4: ', 'a pool of the wrong family')
    yield refused('pool4-overlap',
                  siit(pool4=['203.0.113.0/24', '203.0.113.128/25']),
                  '203.0.113.128/25', 'overlapping pools')
    yield refused('pool6-overlap',
                  siit(pool6=['2001:db8:64::/96', '2001:db8:64::/96']),
                  '2001:db8:64::/96', 'overlapping pools')
    yield refused('port-range', siit(pool4=['203.0.113.1/32:2000-1000']),
                  'zone 1: pool4: ', 'a port range upside down')
    yield refused('eam-family', siit(eamt={'192.0.2.0/24': '2001:db8::/120'}),
                  'zone 1: eamt: ', 'a mapping the wrong way round')
    yield refused('eam-lengths', siit(eamt={'2001:db8:1::/121':
                                            '192.0.2.0/24'}),
                  'zone 1: eamt: ', 'an IPv6 suffix shorter than the IPv4 '
                  'suffix (RFC 7757, 3.1)')
    yield refused('eam-twice', siit(eamt={'2001:db8:1::/120': '192.0.2.0/24',
                                          '2001:db8:2::/120':
                                          '192.0.2.0/24'}),
                  '192.0.2.0/24', 'mappings that overlap')
    yield refused('eam-nested', siit(
        eamt={'2001:db8:1::/120': '192.0.2.0/24',
              '2001:db8:2::/121': '192.0.2.128/25'}, eamt_overlap='refuse'),
                  '192.0.2.', 'nested mappings where that is not wanted')
    yield refused('zone-twice', {'zones': good['zones'] * 2, 'zone': 1},
                  'zone 1 is there twice', 'a zone number twice')
    yield refused('zone-number', changed(good, zone=-1), 'zone',
                  'a zone number below 0')
    yield refused('zone-missing', dict(good, zone=2),
                  'no zone has the number 2', 'a zone that is not there')
    yield refused('kind', changed(good, kind='nat'), 'zone 1: kind: ',
                  'an unknown kind')
    yield refused('unknown-column', changed(good, pool5=[]),
                  'zone 1: unknown key "pool5"', 'an unknown column')
    yield refused('unknown-option', siit(mtu5='1500'), 'mtu5',
                  'an unknown option')
    yield refused('option-type', changed(good, other_config={'mtu6': [1500]}),
                  'zone 1: other_config: mtu6: must be a string',
                  'an option that is a list')
    yield refused('option-range', siit(mtu6='1279'), 'mtu6',
                  'an option out of its range')
    yield refused('option-word', siit(hairpin='maybe'), 'hairpin',
                  'an option with a word that it does not take')
    yield refused('pool6-type', changed(good, pool6={'a': 'b'}),
                  'zone 1: pool6: must be a list of strings',
                  'a column of the wrong type')
    yield refused('eamt-file', siit(eamt_file='nowhere.txt'),
                  'nowhere.txt: No such file', 'a file that is not there')
    yield refused('ila-twice', ila(
        ('5555:0:2:0', '2001:0:0:2', 'adj-transport'),
        ('5555:0:2:0', '2001:0:0:3', 'adj-transport')), '5555:0:2:0',
                  'an identifier twice')
    yield refused('ila-locator', ila(('5555:0:2:0', '2001::2', 'no-action')),
                  'mappings: number 1: ', 'a locator that is no locator')
    yield refused('ila-mode', ila(('5555:0:2:0', '2001:0:0:2', 'magic')),
                  'mappings: number 1: ', 'an unknown checksum mode')
    yield refused('ila-sir', ila(sir='3333:0:0:1::/96'), 'pool6',
                  'a SIR prefix that has not 64 bits')
    yield refused('mapping-column', dict(ila(), mappings=[
        {'zone': 1, 'identifier': '1:2:3:4', 'locator': '1:2:3:4',
         'mode': 'x'}]), 'mappings: number 1: unknown key "mode"',
                  'an unknown column of a mapping')
    yield refused('nat44-pool6', changed(nat44(''), pool6=['2001:db8::/96']),
                  'a nat44 zone has no pool6', 'a pool6 without IPv6')
    yield refused('nat44-no-pool4', changed(nat44(''), pool4=[]),
                  'needs an address in pool4', 'a stateful zone without pool4')
    yield refused('inside4-family', nat44('', inside4='2001:db8::/32'),
                  'inside4: ', 'an inside of the wrong family')
