# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Flexiv authors

# Chapters in Markdown; manual pages stand beside the commands.
dist_doc_DATA += Documentation/building.md
dist_doc_DATA += Documentation/performance.md
dist_doc_DATA += Documentation/translation.md
dist_doc_DATA += Documentation/tutorial.md
