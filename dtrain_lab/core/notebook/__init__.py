"""Notebook → script. Pure: no file is read and nothing is run; any door may import it.

`source` reads a notebook's cells, `magics` puts plain Python in place of IPython's syntax, `script` makes the
file that ranks run, and `sections` takes it apart again. The same file runs under plain torchrun, without
this product.
"""
