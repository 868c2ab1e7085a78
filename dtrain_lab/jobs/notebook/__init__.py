"""Conversion of a notebook to a script. Pure: reads no file and runs nothing; any client may import it.

`source` reads a notebook's cells, `magics` replaces IPython's syntax by plain Python, `script` makes the file
that ranks run, and `sections` splits it into cells again. The same file runs under plain torchrun, without
this product.
"""
