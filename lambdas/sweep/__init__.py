"""Finds accepted events that reached neither agent nor ``unheard``, and relays them."""
