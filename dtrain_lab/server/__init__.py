"""The Jupyter server extension: REST and one WebSocket under `/dtrain-lab/`. May import the services."""
