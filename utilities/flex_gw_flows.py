# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Flexiv authors

"""The OpenFlow flows of a whole translating gateway, on one bridge.

                 hosts                                     network
    IPv6 (ILA: SIR,                              IPv4 (ILA: locator)
    nat44: IPv4) side, ports H                   side, ports N
            |                                                |
    +-------v------------------------------------------------v-------+
    | table T    arrivals    the side it comes from; translate IPv6  |
    |       T+1  hosts       learn from ND; translate ICMPv6         |
    |       T+2  network     learn from ARP or ND; translate         |
    |       T+3  answers     ARP, ND and ping for the gateway        |
    |       T+4  routes      on-link or by a router: the next hop    |
    |       T+5  neighbours  the next hop's MAC address and port     |
    +----------------------------------------------------------------+

Neighbours are learned from ARP and neighbour discovery by learn() flows in
table T+5, or given.  reg0 (IPv4) or xxreg0 (IPv6) carries the next hop from
T+4 to T+5; reg4 is the side, 1 hosts, 2 network: where a packet came from up
to T+3, where it goes from T+4 on; reg6 is the tenant, if ports have one:
hosts of different tenants may have the same address.

This module knows OpenFlow's words and nothing of options or programs.  Flows
refer to fields by OVS's names: ovs-fields(7), ovs-actions(7).
"""

import ipaddress

from flex_gw_packets import arp_request, mac_bytes, neighbour_solicitation

COOKIE = 0x666c << 48           # "fl"; the zone and the role come below.
ROLE_BASE, ROLE_LEARNED = 0, 1

# Tables, counted from the first.
ARRIVALS, HOSTS, NETWORK, ANSWERS, ROUTES, NEIGHBOURS = range(6)
N_TABLES = 6
LEARN_LIMIT = 4096              # Neighbours that one flow can teach us.

# Neighbour solicitations and advertisements that came from the link itself,
# and what OVS says of an option that is not there.
NS = "icmp6,nw_ttl=255,icmp_type=135,icmp_code=0"
NA = "icmp6,nw_ttl=255,icmp_type=136,icmp_code=0"
NO_MAC = "00:00:00:00:00:00"


class Side:
    """One side of the gateway: a link, and what is answered for on it."""

    def __init__(self, number, family, ports, addresses, next_hop, given,
                 pool, mac, tenants=None, proxied=None):
        self.number = number            # 1 hosts, 2 network; kept in reg4.
        self.family = family            # 4 or 6.
        self.ports = ports              # Names or numbers, one at least.
        self.addresses = addresses      # The gateway's own, with the link's
                                        # prefix length; one at least.
        self.next_hop = next_hop        # Router: an object with .address,
                                        # .mac, .port, each or None; or None.
        self.given = given              # Neighbours that are not learned:
                                        # such objects, with address and MAC.
        self.pool = pool                # Destinations that this side sends
                                        # through the translation.
        self.proxied = pool if proxied is None else proxied
                                        # Of these, what is answered for.
        self.tenants = tenants or {}    # Of each port, or of none.
        self.mac = mac
        self.own = list(addresses)
        if family == 6:
            self.own.append(link_local(mac))

    def links(self):
        return sorted({a.network for a in self.own})

    def output(self):
        return ",".join("output:%s" % p for p in self.ports)

    def groups(self):
        """What hosts of one tenant are reached by: pairs of a match and
        ports."""
        if not self.tenants:
            return [("", self.ports)]
        return [(",reg6=%d" % tenant,
                 [p for p in self.ports if self.tenants[p] == tenant])
                for tenant in sorted(set(self.tenants.values()))]


class Flow:
    def __init__(self, table, priority, match, actions, note=""):
        self.table = table
        self.priority = priority
        self.match = match
        self.actions = actions or "drop"
        self.note = note

    def text(self, cookie):
        return ",".join(filter(None, [
            "table=%d" % self.table, "cookie=%#x" % cookie,
            "priority=%d" % self.priority, self.match,
            "actions=" + self.actions]))


def join(*actions):
    return ",".join(filter(None, actions))


def set_field(value, field):
    return "set_field:%s->%s" % (value, field)


def turn_back(mac):
    """To whom it came from, from us."""
    return join("move:NXM_OF_ETH_SRC[]->NXM_OF_ETH_DST[]",
                set_field(mac, "eth_src"))


class Gateway:
    """Makes the flows.  Of 'options' it reads zone, table (the first), ila,
    nat44, inside4, hairpin, resolve, rest and neighbour_timeout, by their
    meanings in flex-gw(8), and stateful: whether the zone is."""

    def __init__(self, options, hosts, network):
        self.options = options
        self.hosts = hosts
        self.network = network
        self.sides = (hosts, network)
        self.rest = "NORMAL" if options.rest == "normal" else ""
        self.flows = []

    # Tables, cookies.

    def table(self, n):
        return self.options.table + n

    def cookie(self, role):
        return COOKIE | self.options.zone << 4 | role

    def add(self, n, priority, match, *actions, note=""):
        self.flows.append(Flow(self.table(n), priority, match,
                               join(*actions), note))

    def goto(self, n):
        return "resubmit(,%d)" % self.table(n)

    def build(self):
        self.arrivals()
        for side in self.sides:
            if side.family == 4:
                self.learn_from_arp(side)
            else:
                self.learn_from_nd(side)
            self.across(side, side.number, 40)
            self.not_across(side)
            self.add(side.number, 30, "reg4=%d" % side.number,
                     self.goto(ANSWERS))
        for side in self.sides:
            if side.family == 4:
                self.answer_arp(side)
            else:
                self.answer_nd(side)
            self.answer_ping(side)
        self.add(ANSWERS, 1, "", self.rest, note="the rest")
        self.routes()
        self.given_neighbours()
        for side in self.sides:
            self.unknown_neighbours(side)
        return self.flows

    # T: arrivals.

    def arrivals(self):
        """ICMPv6 goes a way of its own, so that what neighbour discovery is
        matched on (the hop limit, say) stays out of all other traffic's
        datapath flows.  Priority 1 at the bottom leaves the bridge's own
        flow, priority 0, as it is for the day when the gateway is removed."""
        for side in self.sides:
            protos = (("icmp6", 110), ("ipv6", 100)) if side.family == 6 else (
                ("arp", 100), ("ip", 100))
            for port in side.ports:
                for proto, priority in protos:
                    self.add(ARRIVALS, priority,
                             "in_port=%s,%s" % (port, proto),
                             set_field(side.number, "reg4"),
                             set_field(side.tenants[port], "reg6")
                             if side.tenants else "",
                             self.goto(side.number))
                if side.family == 6:
                    self.across(side, ARRIVALS, 105, "in_port=%s," % port,
                                side.tenants.get(port))
        self.add(ARRIVALS, 1, "", self.rest, note="the rest")

    # T+1, T+2: what a side's hosts teach.

    def learn(self, side, address, mac):
        """Notes among the neighbours that 'address' is at 'mac', behind the
        port where the packet came in.  Both are fields of the packet."""
        eth_type, reg = {4: ("0x800", "NXM_NX_REG0[]"),
                         6: ("0x86dd", "NXM_NX_XXREG0[]")}[side.family]
        timeout = self.options.neighbour_timeout
        return "learn(%s)" % join(
            "table=%d" % self.table(NEIGHBOURS), "priority=40",
            "cookie=%#x" % self.cookie(ROLE_LEARNED),
            "idle_timeout=%d" % timeout if timeout else "",
            "limit=%d" % LEARN_LIMIT,
            "eth_type=%s" % eth_type, "reg4=%d" % side.number,
            "NXM_NX_REG6[]" if side.tenants else "",
            "%s=%s" % (reg, address),
            "load:%s->NXM_OF_ETH_DST[]" % mac,
            "output:NXM_OF_IN_PORT[]")

    def learn_from_arp(self, side):
        for link in side.links():
            self.add(side.number, 70, "arp,arp_spa=%s" % link,
                     self.learn(side, "NXM_OF_ARP_SPA[]", "NXM_NX_ARP_SHA[]"),
                     self.goto(ANSWERS), note="every ARP teaches")

    def learn_from_nd(self, side):
        """A DAD probe has no source address and no option, but its target
        is what the sender is about to be."""
        from_dad = self.learn(side, "NXM_NX_ND_TARGET[]", "NXM_OF_ETH_SRC[]")
        from_ns = self.learn(side, "NXM_NX_IPV6_SRC[]", "NXM_NX_ND_SLL[]")
        from_reply = self.learn(side, "NXM_NX_IPV6_SRC[]", "NXM_OF_ETH_SRC[]")
        from_na = self.learn(side, "NXM_NX_ND_TARGET[]", "NXM_NX_ND_TLL[]")
        answers = self.goto(ANSWERS)

        for own in side.own:
            self.add(side.number, 74,
                     "%s,ipv6_src=::,nd_target=%s" % (NS, own.ip), answers,
                     note="nobody else is to have the gateway's address")
        for link in side.links():
            self.add(side.number, 73,
                     "%s,ipv6_src=::,nd_target=%s" % (NS, link),
                     from_dad, answers, note="DAD tells who comes up")
        for nd, option in (NS, "nd_sll"), (NA, "nd_tll"):
            self.add(side.number, 72, "%s,%s=%s" % (nd, option, NO_MAC),
                     answers, note="without a MAC address it teaches nothing")
        for link in side.links():
            self.add(side.number, 70, "%s,ipv6_src=%s" % (NS, link),
                     from_ns, answers, note="every NS teaches")
            self.add(side.number, 70, "%s,nd_target=%s" % (NA, link),
                     from_na, answers, note="every NA teaches")
            self.add(side.number, 70, "dl_dst=%s,icmp6,icmp_type=129,"
                     "icmp_code=0,ipv6_src=%s,ipv6_dst=%s"
                     % (side.mac, link, side.addresses[0].ip),
                     from_reply, note="an answer to our own ping teaches")

    # T+3: answers.

    def answer_ping(self, side):
        """Whole packets only: a fragment behind the first does not show that
        it belongs to a ping."""
        for own in side.own:
            if side.family == 4:
                match = "icmp,nw_frag=no,nw_dst=%s,icmp_type=8,icmp_code=0"
                reply = join("move:NXM_OF_IP_SRC[]->NXM_OF_IP_DST[]",
                             set_field(own.ip, "ip_src"),
                             set_field(0, "icmp_type"))
            else:
                match = ("icmp6,nw_frag=no,ipv6_dst=%s,icmp_type=128,"
                         "icmp_code=0")
                reply = join("move:NXM_NX_IPV6_SRC[]->NXM_NX_IPV6_DST[]",
                             set_field(own.ip, "ipv6_src"),
                             set_field(129, "icmpv6_type"))
            self.add(ANSWERS, 50, "reg4=%d,dl_dst=%s,%s"
                     % (side.number, side.mac, match % own.ip), reply,
                     set_field(64, "nw_ttl"), turn_back(side.mac), "in_port",
                     note="ping %s" % own.ip)

    def answer_arp(self, side):
        """For the gateway, and for what lies on the other side: hosts may
        take that for on-link."""
        own = [a.ip for a in side.own]
        for target in own + [p for p in side.proxied if p.num_addresses > 1
                             or p.network_address not in own]:
            self.add(ANSWERS, 50, "reg4=%d,arp,arp_op=1,arp_tpa=%s"
                     % (side.number, target), turn_back(side.mac),
                     set_field(2, "arp_op"),
                     "move:NXM_NX_ARP_SHA[]->NXM_NX_ARP_THA[]",
                     set_field(side.mac, "arp_sha"),
                     # The two protocol addresses change places.
                     "move:NXM_OF_ARP_TPA[]->NXM_NX_REG0[]",
                     "move:NXM_OF_ARP_SPA[]->NXM_OF_ARP_TPA[]",
                     "move:NXM_NX_REG0[]->NXM_OF_ARP_SPA[]", "in_port",
                     note="ARP for %s" % target)

    def answer_nd(self, side):
        """A solicitation becomes an advertisement in two flows: OpenFlow
        takes nd_tll only behind a match on the advertisement's type."""
        ask = "reg4=%d,%s" % (side.number, NS)
        self.add(ANSWERS, 70, "reg4=%d,reg5=1,%s" % (side.number, NA),
                 set_field(side.mac, "nd_tll"), "in_port",
                 note="an NS that is an NA by now")
        for own in side.own:
            self.add(ANSWERS, 62, "%s,ipv6_src=::,nd_target=%s"
                     % (ask, own.ip), self.defend(side, own.ip), "in_port",
                     note="DAD: %s is taken" % own.ip)
        self.add(ANSWERS, 61, ask + ",ipv6_src=::", self.rest,
                 note="DAD for what is not ours")
        for target, override in ([(a.ip, True) for a in side.own]
                                 + [(p, False) for p in side.proxied]):
            to = "%s,nd_target=%s" % (ask, target)
            self.add(ANSWERS, 51, "%s,nd_sll=%s" % (to, NO_MAC),
                     self.advertise(side, override, False),
                     note="ND for %s, asked without an option" % target)
            self.add(ANSWERS, 50, to, self.advertise(side, override, True),
                     note="ND for %s" % target)

    def advertise(self, side, override, option):
        """Makes the NA of an NS.  RFC 4861, 4.4: router, solicited, and
        override unless as a proxy (7.2.8).  The source link-layer option
        becomes the target's; 'option' says whether there is one."""
        flags = "0xe0000000" if override else "0xc0000000"
        with_option = join(set_field(2, "nd_options_type"),
                           set_field(1, "reg5"), self.goto(ANSWERS))
        return join(turn_back(side.mac), set_field(136, "icmpv6_type"),
                    set_field(flags, "nd_reserved"),
                    "move:NXM_NX_IPV6_SRC[]->NXM_NX_IPV6_DST[]",
                    "move:NXM_NX_ND_TARGET[]->NXM_NX_IPV6_SRC[]",
                    with_option if option else "in_port")

    def defend(self, side, address):
        """Makes the NA that answers a DAD probe, to all nodes."""
        return join(set_field(side.mac, "eth_src"),
                    set_field("33:33:00:00:00:01", "eth_dst"),
                    set_field(136, "icmpv6_type"),
                    set_field("0xa0000000", "nd_reserved"),
                    set_field("ff02::1", "ipv6_dst"),
                    set_field(address, "ipv6_src"))

    # T+1, T+2: what goes across.

    def action(self, side, tenant=None):
        """'tenant' is that of hosts at one port; None reads it from reg6."""
        if self.options.ila:
            direction = {1: "to_locator", 2: "to_identifier"}[side.number]
            return "ila(zone=%d,dir=%s)" % (self.options.zone, direction)
        if not self.hosts.tenants:
            return "nat64(zone=%d)" % self.options.zone
        if side is self.network:
            tenant = 0              # The session knows better.
        return "nat64(zone=%d,tenant=%s)" % (
            self.options.zone, "reg6" if tenant is None else tenant)

    def across(self, side, table, priority, match="", tenant=None):
        far = self.network if side is self.hosts else self.hosts
        match += "dl_dst=%s,%s" % (
            side.mac, "ip,nw_dst" if side.family == 4 else "ipv6,ipv6_dst")
        action = self.action(side, tenant)
        for target in self.hairpins(side):
            self.add(table, priority + 2, "%s=%s" % (match, target), action,
                     self.goto(ROUTES), note="one of our hosts to another")
        for prefix in side.pool:
            self.add(table, priority, "%s=%s" % (match, prefix), action,
                     self.onward(side, far), note="to %s" % prefix)

    def hairpins(self, side):
        """Destinations of the side's packets that lead back to it, if those
        to others do not look for a route."""
        if (side is self.network or self.options.ila
            or not (self.options.hairpin or self.options.stateful)
            or self.onward(side, self.network) == self.goto(ROUTES)):
            return []
        if side.family == 4:
            return self.network.pool
        return [embedded(pool6, pool4) for pool6 in side.pool
                for pool4 in self.network.pool]

    def not_across(self, side):
        """What is on the link of a nat44 zone's inside is not translated."""
        if self.options.nat44 and side is self.hosts:
            for link in side.links():
                self.add(side.number, 45, "ip,nw_dst=%s" % link,
                         self.goto(ANSWERS), note="on-link")

    def onward(self, near, far):
        """A next hop given by its MAC address costs no second look at the
        packet, as what follows the translation reads nothing of it."""
        hop = far.next_hop
        if hop and hop.mac and not hop.address:
            port = hop.port or far.ports[0]
            return join(set_field(far.mac, "eth_src"),
                        set_field(hop.mac, "eth_dst"),
                        "in_port" if near.ports == far.ports
                        else "output:%s" % port)
        return self.goto(ROUTES)

    # T+4: routes.

    def routes(self):
        """in_port is cleared: a packet may leave by the port it came from."""
        for side in self.sides:
            kind, field, reg, to = {
                4: ("ip", "nw_dst", "reg0",
                    "move:NXM_OF_IP_DST[]->NXM_NX_REG0[]"),
                6: ("ipv6", "ipv6_dst", "xxreg0",
                    "move:NXM_NX_IPV6_DST[]->NXM_NX_XXREG0[]")}[side.family]
            onward = join(set_field(side.number, "reg4"),
                          "move:NXM_NX_PKT_MARK[]->NXM_NX_REG6[]"
                          if side.tenants else "",
                          set_field(side.mac, "eth_src"),
                          "load:0->NXM_OF_IN_PORT[]",
                          self.goto(NEIGHBOURS))
            for link in side.links():
                self.add(ROUTES, 50 + link.prefixlen,
                         "%s,%s=%s" % (kind, field, link), to, onward,
                         note="on-link")
            hop = side.next_hop
            if hop and hop.address:
                for priority, match in self.behind_router(side):
                    self.add(ROUTES, priority, kind + match,
                             set_field("%#x" % int(hop.address), reg), onward,
                             note="by %s" % hop.address)
        self.turn_round()

    def turn_round(self):
        """From one of our hosts to another, by its address of the other
        side: translated both ways here, without leaving."""
        if self.options.ila or self.options.hairpin:
            field = "ipv6,ipv6_dst" if self.options.ila else "ip,nw_dst"
            for prefix in self.network.pool:
                self.add(ROUTES, 200, "%s=%s" % (field, prefix),
                         self.action(self.network), self.goto(ROUTES),
                         note="one of our hosts to another")

    def behind_router(self, side):
        """Where both sides are of one family, all that is not known to be the
        hosts' is the network's."""
        if side is self.hosts and self.options.ila:
            return []
        if side is self.network or not self.options.nat44:
            return [(10, "")]
        return [(10 + prefix.prefixlen, ",nw_dst=%s" % prefix)
                for prefix in self.options.inside4]

    # T+5: neighbours.

    def given_neighbours(self):
        for side in self.sides:
            reg = "ip,reg0" if side.family == 4 else "ipv6,xxreg0"
            hops = side.given + [side.next_hop]
            for hop in filter(lambda h: h and h.address and h.mac, hops):
                tenant = (",reg6=%d" % side.tenants[hop.port]
                          if side.tenants else "")
                self.add(NEIGHBOURS, 50, "reg4=%d%s,%s=%#x"
                         % (side.number, tenant, reg, int(hop.address)),
                         set_field(hop.mac, "eth_dst"),
                         "output:%s" % (hop.port or side.ports[0]),
                         note="%s, given" % hop.address)

    def unknown_neighbours(self, side):
        """At most once a second for each neighbour."""
        kind, eth_type, reg = {
            4: ("ip", "0x800", "NXM_NX_REG0[]"),
            6: ("ipv6", "0x86dd", "NXM_NX_XXREG0[]")}[side.family]
        quiet = "learn(%s)" % join(
            "table=%d" % self.table(NEIGHBOURS), "priority=30",
            "hard_timeout=1", "cookie=%#x" % self.cookie(ROLE_LEARNED),
            "eth_type=%s" % eth_type, "reg4=%d" % side.number,
            "NXM_NX_REG6[]" if side.tenants else "", reg)
        for tenant, ports in side.groups():
            find = (self.become_request(side, tenant, ports)
                    if self.options.resolve else
                    join(self.to_group(side),
                         *["output:%s" % port for port in ports]))
            self.add(NEIGHBOURS, 10, "reg4=%d%s,%s"
                     % (side.number, tenant, kind), quiet, find,
                     note="no neighbour")

    def to_group(self, side):
        """To the next hop's solicited-node group, or to all (IPv4).  A packet
        that goes there finds its host all the same, and a host that answers
        must ask for our MAC address first, and by that shows its own."""
        if side.family == 4:
            return set_field("ff:ff:ff:ff:ff:ff", "eth_dst")
        return join(set_field("33:33:ff:00:00:00", "eth_dst"),
                    "move:NXM_NX_XXREG0[0..23]->NXM_OF_ETH_DST[0..23]")

    def become_request(self, side, tenant, ports):
        """The packet becomes the ARP request or neighbour solicitation that
        finds its next hop; its sender's next try will pass.

        OpenFlow writes fields, not bytes, but an NSH header may carry any:
        the request, from its Ethernet type on.  An MPLS label in front, taken
        off again as the label of an Ethernet frame, has the switch look at
        the NSH header as if it were one.  In it, the NSH header's first 12
        bytes are where MAC addresses are; those are set then."""
        request = self.request(side)
        if side.family == 4:
            match = "arp"
            target = "move:NXM_NX_REG0[]->NXM_OF_ARP_TPA[]"
        else:
            match = "icmp6,icmp_type=135,icmp_code=0"
            target = join("move:NXM_NX_XXREG0[]->NXM_NX_ND_TARGET[]",
                          "move:NXM_NX_XXREG0[0..23]->"
                          "NXM_NX_IPV6_DST[0..23]")
        # Behind the request is what was the packet, to be cut off.
        self.add(NEIGHBOURS, 60, "reg4=%d,reg5=1%s,%s"
                 % (side.number, tenant, match),
                 target, set_field(side.mac, "eth_src"), self.to_group(side),
                 *["output(port=%s,max_len=%d)" % (port, len(request))
                   for port in ports],
                 note="a request by now")
        return join(set_field(1, "reg5"),
                    "encap(nsh(md_type=2,tlv(0x0,0,0x%s)))"
                    % request[12:].hex(), "encap(mpls)",
                    "decap(packet_type(ns=0,type=0))", self.goto(NEIGHBOURS))

    def request(self, side):
        """A request for no address yet."""
        own = side.addresses[0].ip
        if side.family == 4:
            return arp_request(side.mac, own, ipaddress.IPv4Address(0))
        return neighbour_solicitation(side.mac, own, ipaddress.IPv6Address(0))


def link_local(mac):
    """fe80::/64 and the modified EUI-64 of 'mac' (RFC 4291, appendix A)."""
    b = mac_bytes(mac)
    iid = bytes([b[0] ^ 2]) + b[1:3] + b"\xff\xfe" + b[3:]
    return ipaddress.IPv6Interface((b"\xfe\x80" + bytes(6) + iid, 64))


def embedded(pool6, pool4):
    """The IPv6 addresses in which 'pool6' embeds 'pool4', as ADDR/MASK
    (RFC 6052, 2.2)."""
    def place(bits):
        if pool6.prefixlen == 96:
            return bits
        bits <<= 96 - pool6.prefixlen
        # Bits 64 to 71 stay free.
        low = bits & (1 << 64) - 1
        return bits - low | low >> 8

    return "%s/%s" % tuple(
        ipaddress.IPv6Address(int(six) | place(int(four))) for six, four in (
            (pool6.network_address, pool4.network_address),
            (pool6.netmask, pool4.netmask)))
