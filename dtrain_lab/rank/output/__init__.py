"""Output of a rank: streams, figures, widgets, and the executed notebook of a job."""
