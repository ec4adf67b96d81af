"""Judged collections: their cards, their formats, loading, checking and making them."""

from assay.eval.collections.card import Card
from assay.eval.collections.catalog import find_card, list_cards
from assay.eval.collections.check import check
from assay.eval.collections.collection import Collection, GoldItem, Query
from assay.eval.collections.loading import load

__all__ = ["Card", "Collection", "GoldItem", "Query", "check", "find_card", "list_cards", "load"]
