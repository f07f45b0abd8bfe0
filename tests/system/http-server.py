#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Flexiv authors

"""http-server.py DIRECTORY PORT: static files, over IPv6 and IPv4 alike."""

import functools
import http.server
import socket
import socketserver
import sys


class Server(http.server.ThreadingHTTPServer):
    address_family = socket.AF_INET6

    def server_bind(self):
        """Without HTTPServer's search for its own name, which asks DNS."""
        self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = "localhost", int(sys.argv[2])


handler = functools.partial(http.server.SimpleHTTPRequestHandler,
                            directory=sys.argv[1])
Server(("::", int(sys.argv[2])), handler).serve_forever()
