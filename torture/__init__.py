"""Campaigns against the harness itself: kills, hostile files, disks that are full or read-only."""
