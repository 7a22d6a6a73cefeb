"""What users see, kept byte by byte.

SPDX-License-Identifier: GPL-3.0-or-later
"""
