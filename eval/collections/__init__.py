"""Judged collections: their cards, their formats, loading, checking and making them."""

from eval.collections.card import Card
from eval.collections.catalog import find_card, list_cards
from eval.collections.check import check
from eval.collections.collection import Collection, GoldItem, Query
from eval.collections.loading import load

__all__ = ["Card", "Collection", "GoldItem", "Query", "check", "find_card", "list_cards", "load"]
