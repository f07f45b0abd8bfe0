#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Flexiv authors

"""http-server.py DIRECTORY PORT: static files, over IPv6 and IPv4 alike."""

import functools
import http.server
import socket
import sys


class Server(http.server.ThreadingHTTPServer):
    address_family = socket.AF_INET6

    def server_bind(self):
        self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        super().server_bind()


handler = functools.partial(http.server.SimpleHTTPRequestHandler,
                            directory=sys.argv[1])
Server(("::", int(sys.argv[2])), handler).serve_forever()
