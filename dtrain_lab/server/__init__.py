"""The Jupyter server extension: REST and one WebSocket under `/dtrain-lab/`. A door; may import services."""
