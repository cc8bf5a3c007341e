"""Inventory replenishment: periodic review, lead time, lost sales or backorders, on demand data or published beds."""

from problems.inventory.problem import Inventory
from problems.inventory.settings import InventorySettings

__all__ = ["Inventory", "InventorySettings"]
