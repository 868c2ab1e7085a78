"""Packages of others that notebooks import beside a framework, or instead of one."""

from __future__ import annotations

PLAIN = frozenset((
    "IPython", "PIL", "altair", "anndata", "attr", "attrs", "boto3", "bokeh", "botocore", "bs4",
    "catboost", "charset_normalizer", "click", "cloudpickle", "cupy", "cv2", "cycler", "dask",
    "dateutil", "distributed", "docutils", "dotenv", "dtrain_lab", "duckdb", "filelock", "fiona",
    "fsspec", "gcsfs", "gensim", "geopandas", "google", "graphviz", "gym", "gymnasium", "h5py", "httpx",
    "huggingface_hub", "hydra", "hyperopt", "igraph", "imageio", "ipykernel", "ipyparallel",
    "ipywidgets", "jax", "jaxlib", "jinja2", "joblib", "jsonschema", "jupyter", "keras", "kiwisolver",
    "lightgbm", "lxml", "matplotlib", "mlflow", "mpi4py", "mpl_toolkits", "msgpack", "msgspec", "mxnet",
    "nbformat", "neptune", "netCDF4", "networkx", "nltk", "notebook", "numba", "numexpr", "numpy",
    "nvtx", "omegaconf", "onnx", "onnxruntime", "openpyxl", "optax", "optuna", "orjson", "packaging",
    "paddle", "pandas", "patsy", "pkg_resources", "plotly", "polars", "psutil", "pyarrow", "pydantic",
    "pydot", "pynvml", "pyspark", "pytest", "pytz", "rasterio", "ray", "regex", "requests", "rich",
    "s3fs", "scanpy", "scipy", "seaborn", "sentencepiece", "setuptools", "shapely", "simplejson", "six",
    "skimage", "skimpy", "sklearn", "sqlalchemy", "statsmodels", "sympy", "tables", "tabulate",
    "tensorboard", "tensorboardX", "tf_keras", "tiktoken", "tokenizers", "toml", "tomli", "tomlkit",
    "tqdm", "traitlets", "typing_extensions", "umap", "ujson", "wandb", "xarray", "xgboost", "xlrd",
    "yaml", "zarr", "zmq", "zstandard",
))  # fmt: skip
"""Packages that train nothing with torch by themselves, or can do without it."""
