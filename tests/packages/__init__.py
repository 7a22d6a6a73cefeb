"""Wheel, tarball and checkout, installed and used as people do."""
