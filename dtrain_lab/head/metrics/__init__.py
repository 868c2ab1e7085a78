"""Metrics at the head: samples become metrics, verdicts and advice (`collector`), and a history.

`snapshot` builds the state of the whole world that the panel, kernel and terminal get.
"""
