"""Hosts: commands and files on this machine or on another one, connections, forwards and sign-in."""
